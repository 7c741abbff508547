// Short messages at the lower edge: what was done, with a way back; what could not be done.

export interface Toast {
  id: number;
  text: string;
  tone: "good" | "bad";
  action: { label: string; run: () => void } | undefined;
}

const GOOD_MS = 4500;
const UNDO_MS = 12_000;
const BAD_MS = 12_000;

let next = 1;
const shown = $state<Toast[]>([]);

export const toasts = {
  get shown(): readonly Toast[] {
    return shown;
  },
  dismiss(id: number): void {
    const place = shown.findIndex((toast) => toast.id === id);
    if (place >= 0) shown.splice(place, 1);
  },
};

export function say(text: string, action?: Toast["action"]): void {
  show({ id: next++, text, tone: "good", action }, action ? UNDO_MS : GOOD_MS);
}

export function complain(error: unknown): void {
  show({ id: next++, text: error instanceof Error ? error.message : String(error), tone: "bad", action: undefined }, BAD_MS);
}

/** Do something that may be refused, and say so where it is. */
export async function attempt<T>(what: () => Promise<T>): Promise<T | undefined> {
  try {
    return await what();
  } catch (error) {
    complain(error);
    return undefined;
  }
}

function show(toast: Toast, ms: number): void {
  shown.push(toast);
  if (shown.length > 4) shown.shift();
  window.setTimeout(() => toasts.dismiss(toast.id), ms);
}
