// Several runs side by side: what they were told differently, what to call them, which differ by their seed alone.

import type { RunDetail, RunRow } from "../../generated/messages";
import { setting } from "../../format";
import { nameOf } from "../../ui/status";
import { flat } from "../run/config";

export interface Compared {
  row: RunRow;
  settings: ReadonlyMap<string, unknown>;
}

export interface Differing {
  name: string;
  values: unknown[];
}

/** Settings that say where and when, not what. */
const ASIDE = new Set(["seed", "num_threads", "wandb"]);

export function comparedOf({ row, card }: RunDetail): Compared {
  const own = [
    { name: "task", value: row.task },
    { name: "preset", value: row.preset },
  ];
  return { row, settings: new Map([...own, ...flat(card?.setup.config ?? {})].map(({ name, value }) => [name, value])) };
}

/** Settings that not all share, in the order in which the first run has them. */
export function differing(runs: readonly Compared[]): Differing[] {
  const names = new Set(runs.flatMap(({ settings }) => [...settings.keys()]));
  return [...names]
    .map((name) => ({ name, values: runs.map(({ settings }) => settings.get(name)) }))
    .filter(({ values }) => new Set(values.map((value) => JSON.stringify(value))).size > 1);
}

/** Runs of one key were told the same but for their seed. */
export function groupKey({ settings }: Compared): string {
  return JSON.stringify([...settings].filter(([name]) => !ASIDE.has(name)).sort());
}

/** How long a run goes on says less of it than the rest. */
const rank = ({ name }: Differing) => (name === "steps" || name === "minutes" ? 1 : 0);

/** Its title, or its task where not all have the same; then what sets it apart from the others. */
export function labelOf({ row, settings }: Compared, differences: readonly Differing[], withSeed: boolean): string {
  const named = row.title || differences.some(({ name }) => name === "task");
  const apart = differences.filter(({ name }) => !ASIDE.has(name) && name !== "task").sort((a, b) => rank(a) - rank(b));
  const said = apart.slice(0, 2).map(({ name }) => `${name === "preset" ? "" : `${name.split(".").at(-1)} `}${setting(settings.get(name))}`);
  const parts = [...(named ? [nameOf(row)] : []), ...said, ...(withSeed ? [`seed ${row.seed}`] : [])];
  return parts.join(", ") || nameOf(row);
}
