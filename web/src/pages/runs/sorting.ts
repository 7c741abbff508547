// Which runs a table shows, and in which order.

import type { Place, RunRow } from "../../generated/messages";
import { isActive, lookOf } from "../../ui/status";

export type Group = "all" | "active" | "over" | "trouble";
export type SortKey = "status" | "name" | "preset" | "steps" | "return" | "success" | "speed" | "created" | "size";

export interface Sort {
  key: SortKey;
  down: boolean;
}

export interface Wanted {
  place: Place;
  group: Group;
  search: string;
}

const VALUES: Record<SortKey, (row: RunRow) => number | string | null> = {
  status: (row) => `${["live", "wait", "good", "calm", "bad"].indexOf(lookOf(row.status).tone)}${row.status}`,
  name: (row) => (row.title || row.task).toLowerCase(),
  preset: (row) => `${row.preset} ${String(row.seed).padStart(6, "0")}`,
  steps: (row) => row.env_steps,
  return: (row) => row.mean_return,
  success: (row) => row.best_success ?? row.success,
  speed: (row) => row.steps_per_s,
  created: (row) => row.created,
  size: (row) => row.size_bytes,
};

export function groupOf(row: RunRow): Exclude<Group, "all"> {
  if (isActive(row)) return "active";
  return lookOf(row.status).tone === "bad" ? "trouble" : "over";
}

/** Every word must be somewhere in what the row says. */
export function matches(row: RunRow, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const said = [row.id, row.title, row.task, row.preset, `s${row.seed}`, row.status, row.sim, row.note, ...row.tags.map((tag) => `#${tag}`)]
    .join(" ")
    .toLowerCase();
  return words.every((word) => said.includes(word));
}

export function chosen(rows: readonly RunRow[], wanted: Wanted): RunRow[] {
  return rows.filter(
    (row) => row.place === wanted.place && (wanted.group === "all" || groupOf(row) === wanted.group) && matches(row, wanted.search),
  );
}

/** By what was asked, what is unknown last; then the newest first. */
export function sorted(rows: readonly RunRow[], { key, down }: Sort): RunRow[] {
  const value = VALUES[key];
  const keyed = rows.map((row) => ({ row, at: value(row) }));
  keyed.sort((a, b) => {
    if (a.at === null || b.at === null) return a.at === b.at ? newest(a.row, b.row) : a.at === null ? 1 : -1;
    const order = a.at < b.at ? -1 : a.at > b.at ? 1 : 0;
    return (down ? -order : order) || newest(a.row, b.row);
  });
  return keyed.map(({ row }) => row);
}

const newest = (a: RunRow, b: RunRow) => (a.created < b.created ? 1 : a.created > b.created ? -1 : 0);
