/** A robot whose episode ends lights up for a moment, in the colour of how it ended. */

import type { Frame } from "./frames";
import type { Swarm } from "./swarm";

/** How long, ms. */
const LASTS = 700;
const ENDED = [1, 0.05, 0.02] as const;
const SUCCEEDED = [0.05, 0.8, 0.2] as const;
/** Of a world that is not in focus: how its episode ended is not known. */
const BEGUN = [1, 1, 1] as const;

export class Flashes {
  private readonly lit: { slot: number; until: number; colour: readonly [number, number, number] }[] = [];

  /** Lights those whose episode ended between two frames of the same worlds. */
  compare(before: Frame, { n, ages, worlds, tail }: Frame, now: number): void {
    for (let slot = 0; slot < n; slot++) {
      const isFocus = worlds[slot] === tail.world;
      if (isFocus && tail.ended) this.add(slot, tail.success ? SUCCEEDED : ENDED, now);
      else if (!isFocus && ages[slot]! < before.ages[slot]!) this.add(slot, BEGUN, now);
    }
  }

  private add(slot: number, colour: readonly [number, number, number], now: number): void {
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
