/** The last seconds of the world in focus: its observations, actions and rewards, in rings that nothing is added to per frame. */

import type { FrameTail } from "../generated/messages";

/** Frames that are kept. */
export const KEPT = 240;
/** Share of a running mean that a new frame makes. */
const FRESH = 0.08;

/** Named rows of numbers over time. */
export class Ring {
  readonly values: Float32Array;
  /** Frames put in so far. */
  count = 0;

  constructor(
    readonly name: string,
    readonly width: number,
  ) {
    this.values = new Float32Array(KEPT * width);
  }

  put(row: readonly number[]): void {
    const at = (this.count++ % KEPT) * this.width;
    for (let i = 0; i < this.width; i++) this.values[at + i] = row[i] ?? NaN;
  }

  get length(): number {
    return Math.min(this.count, KEPT);
  }

  /** The value of a column, `back` frames ago. */
  at(back: number, column: number): number {
    return this.values[((this.count - 1 - back) % KEPT) * this.width + column]!;
  }
}

export interface Term {
  name: string;
  now: number;
  mean: number;
}

export class FocusHistory {
  world = -1;
  readonly terms: Term[] = [];
  readonly traces: Ring[] = [];

  /** Takes what a frame says of the world in focus; another world begins anew. */
  take(tail: FrameTail): void {
    if (tail.world !== this.world) this.clear(tail.world);
    for (const [name, value] of Object.entries(tail.reward ?? {})) this.reward(name, value);
    if (tail.action) this.trace("action", tail.action);
    for (const [name, row] of Object.entries(tail.obs ?? {})) this.trace(name, row);
  }

  clear(world: number): void {
    this.world = world;
    this.terms.length = this.traces.length = 0;
  }

  private reward(name: string, value: number): void {
    const term = this.terms.find((candidate) => candidate.name === name);
    if (term === undefined) {
      this.terms.push({ name, now: value, mean: value });
      return;
    }
    term.now = value;
    term.mean += FRESH * (value - term.mean);
  }

  private trace(name: string, row: readonly number[]): void {
    let ring = this.traces.find((candidate) => candidate.name === name);
    if (ring === undefined) this.traces.push((ring = new Ring(name, row.length)));
    ring.put(row);
  }
}
