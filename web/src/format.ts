// Numbers, times and sizes as people read them.

const NONE = "–";

/** 12,345 */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** 950, 12.3k, 4.56M: three digits that count. */
export function brief(value: number): string {
  const size = Math.abs(value);
  if (size < 1000) return plain(value);
  const step = size >= 999.5e6 ? 3 : size >= 999.5e3 ? 2 : 1;
  return `${(value / 1000 ** step).toPrecision(3).replace(/\.0*$|(\.\d*[1-9])0+$/, "$1")}${"kMG"[step - 1]}`;
}

/** Four digits that count, and no exponent where none is needed. */
export function plain(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2).replace("-", "−").replace("e+", "e");
  if (size >= 1000) return value.toLocaleString("en-US", { maximumFractionDigits: 0 }).replace("-", "−");
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

/** 87 % */
export function share(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : `${Math.round(value * 100)} %`;
}

/** 42 s, 3 min 05 s, 2 h 07 min, 3 d 4 h */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  const two = (value: number) => String(value).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

/** just now, 4 min ago, 3 h ago, 12 Nov */
export function ago(iso: string, now: number): string {
  const then = Date.parse(iso);
  if (!Number.isFinite(then)) return NONE;
  const s = (now - then) / 1000;
  if (s < 45) return "just now";
  if (s < 3600) return `${Math.max(1, Math.round(s / 60))} min ago`;
  if (s < 86400) return `${Math.round(s / 3600)} h ago`;
  if (s < 7 * 86400) return `${Math.round(s / 86400)} d ago`;
  return new Date(then).toLocaleDateString("en-GB", { day: "numeric", month: "short", ...(s > 300 * 86400 ? { year: "numeric" } : {}) });
}

/** 14:03:22, or with the day where it was not today. */
export function moment(unix: number): string {
  const at = new Date(unix * 1000);
  const clock = at.toLocaleTimeString("en-GB");
  return at.toDateString() === new Date().toDateString() ? clock : `${at.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${clock}`;
}

/** 834 B, 12.3 MB */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  const step = value >= 999.5e6 ? 3 : value >= 999.5e3 ? 2 : 1;
  return `${(value / 1000 ** step).toPrecision(3).replace(/\.0*$|(\.\d*[1-9])0+$/, "$1")} ${["kB", "MB", "GB"][step - 1]}`;
}

/** A setting as one would type it. */
export function setting(value: unknown): string {
  if (value === null || value === undefined) return NONE;
  if (value === "") return "(empty)";
  if (Array.isArray(value)) return value.map(setting).join(" ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(8)));
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}
