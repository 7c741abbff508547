// One scalar of one run in typed arrays: what was fetched, and what came live after it.

import type { Block } from "../wire/pdks";

const COLUMNS = ["step", "time", "mean", "min", "max", "count"] as const;
type Column = (typeof COLUMNS)[number];

/** Points in the order of steps; each is one value, or a bucket of values with its lowest and highest. */
export class Series {
  n = 0;
  /** Values of this scalar that are in here; a live point of a smaller number is one of them. */
  total = 0;
  /** Whether each point is one value. */
  whole = true;
  firstTime = 0;
  /** Counts every change, so that whoever draws knows whether it is out of date. */
  version = 0;
  error = "";
  private columns = Object.fromEntries(COLUMNS.map((name) => [name, new Float64Array(0)])) as Record<Column, Float64Array>;

  constructor(readonly name: string) {}

  /** A view of a column: no copy, gone stale after the next append. */
  column(name: Column): Float64Array {
    return this.columns[name].subarray(0, this.n);
  }

  /** Everything anew, as the server sent it. */
  replace(block: Block): void {
    this.n = block.head.n;
    this.total = block.head.total;
    this.whole = block.head.whole;
    this.firstTime = block.head.first_time;
    this.error = block.head.error;
    for (const name of COLUMNS) this.columns[name] = block.columns[name] ?? new Float64Array(this.n);
    this.version++;
  }

  /** One value more, number `i` of this scalar. Says false where values before it are missing: then it must be fetched. */
  append(i: number, step: number, time: number, value: number): boolean {
    if (i < this.total) return true;
    if (i > this.total) return false;
    if (this.n === this.columns.step.length) this.grow();
    const { columns, n } = this;
    columns.step[n] = step;
    columns.time[n] = time;
    columns.mean[n] = columns.min[n] = columns.max[n] = value;
    columns.count[n] = 1;
    this.firstTime ||= time;
    this.n++;
    this.total++;
    this.version++;
    return true;
  }

  private grow(): void {
    for (const name of COLUMNS) {
      const larger = new Float64Array(Math.max(256, this.n * 2));
      larger.set(this.columns[name].subarray(0, this.n));
      this.columns[name] = larger;
    }
  }
}

/** The value that holds at `x` in ascending `xs`: the place of the last that is not beyond it; -1 before the first. */
export function placeOf(xs: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle]! <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
