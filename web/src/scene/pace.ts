/** Keeps the picture fluent: watches how long pictures take and, where the graphics are slow, draws less. Never silently: `level` is shown. */

/** What each level draws: pixels per CSS pixel at most, side of the shadow map, whether frames are blended. */
export const LEVELS = [
  { pixels: 2, shadow: 2048, smooth: true, name: "full" },
  { pixels: 1, shadow: 1024, smooth: true, name: "plain" },
  { pixels: 1, shadow: 0, smooth: true, name: "no shadows" },
  { pixels: 0.75, shadow: 0, smooth: false, name: "coarse" },
] as const;

/** A picture slower than this is slow, ms. */
const SLOW = 55;
/** Slow pictures in a row until less is drawn. */
const PATIENCE = 8;

export class Pace {
  level = 0;
  /** Pictures per second, lately. */
  rate = 0;
  private slow = 0;
  private last = 0;

  /** A picture was drawn; `flowing` says whether the one before was drawn as part of the same movement. True on a change of level. */
  drawn(now: number, flowing: boolean): boolean {
    const took = now - this.last;
    this.last = now;
    if (!flowing || took > 1000) return false; // it rested in between
    this.rate += 0.1 * (1000 / Math.max(took, 1) - this.rate);
    this.slow = took > SLOW ? this.slow + 1 : Math.max(0, this.slow - 1);
    if (this.slow < PATIENCE || this.level === LEVELS.length - 1) return false;
    this.slow = 0;
    this.level++;
    return true;
  }

  get now(): (typeof LEVELS)[number] {
    return LEVELS[this.level]!;
  }
}
