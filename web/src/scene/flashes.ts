/** A robot whose episode ends lights up for a moment, in the colour of how it ended. */

import type { Swarm } from "./swarm";

/** How long, ms. */
const LASTS = 700;

export class Flashes {
  private readonly lit: { slot: number; until: number; colour: readonly [number, number, number] }[] = [];

  add(slot: number, colour: readonly [number, number, number], now: number): void {
    const old = this.lit.findIndex((flash) => flash.slot === slot);
    if (old >= 0) this.lit.splice(old, 1);
    this.lit.push({ slot, until: now + LASTS, colour });
  }

  /** Colours the robots for now; true while one is lit. */
  show(swarm: Swarm, now: number): boolean {
    for (let i = this.lit.length - 1; i >= 0; i--) {
      const { slot, until, colour } = this.lit[i]!;
      const share = Math.max(0, (until - now) / LASTS);
      if (slot < swarm.count) swarm.tint(slot, null, ...colour, 0.75 * share * share);
      if (share === 0) this.lit.splice(i, 1);
    }
    return this.lit.length > 0;
  }
}
