// What can be done to runs, said afterwards, with a way back where there is one.

import type { LabelChange, RunRow } from "../generated/messages";
import { nameOf } from "../ui/status";
import { api } from "../wire/api";
import { cockpit } from "./cockpit.svelte";
import { attempt, complain, say } from "./toasts.svelte";

type Act = (id: string) => Promise<unknown>;

export function label(row: RunRow, change: LabelChange): void {
  const before = { title: row.title, tags: row.tags, note: row.note };
  const { title, tags, note } = change;
  cockpit.assume(row.id, { ...(title != null && { title }), ...(tags && { tags }), ...(note != null && { note }) });
  api.label(row.id, change).catch((error: unknown) => {
    cockpit.assume(row.id, before);
    complain(error);
  });
}

export const archive = (rows: readonly RunRow[]) => each(rows, api.archive, "Archived", api.restore);
export const remove = (rows: readonly RunRow[]) => each(rows, api.remove, "Moved to the trash:", api.restore);
export const restore = (rows: readonly RunRow[]) => each(rows, api.restore, "Restored");

export async function tell(row: RunRow, what: "pause" | "resume" | "save"): Promise<void> {
  const done = await attempt(() => api.tell(row.id, what));
  if (done) say(done.ok);
}

export async function stop(row: RunRow): Promise<void> {
  const done = await attempt(() => api.stop(row.id));
  if (done) say(done.ok);
}

/** Go on with a run that is over, as a job of its own. */
export async function goOn(row: RunRow, minutes: number): Promise<void> {
  const job = await attempt(() => api.start({ resume: row.id, minutes }));
  if (job) say(`${nameOf(row)} goes on for ${minutes} minutes.`);
}

async function each(rows: readonly RunRow[], act: Act, done: string, undo?: Act): Promise<void> {
  const changed: RunRow[] = [];
  for (const row of rows) if (await attempt(() => act(row.id))) changed.push(row);
  if (changed.length === 0) return;
  const what = changed.length === 1 ? nameOf(changed[0]!) : `${changed.length} runs`;
  say(`${done} ${what}.`, undo && { label: "Undo", run: () => void each(changed, undo, "Restored") });
}
