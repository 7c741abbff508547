/** Keeps the picture fluent: watches how long pictures take and, where the graphics are slow, draws less. Never silently: `level` is shown. */

/** What each level draws: pixels per CSS pixel at most, side of the shadow map, whether frames are blended, how many times as many robots the shapes are made for. */
export const LEVELS = [
  { pixels: 2, shadow: 2048, smooth: true, coarse: 1, name: "full" },
  { pixels: 1, shadow: 1024, smooth: true, coarse: 1, name: "plain" },
  { pixels: 1, shadow: 0, smooth: true, coarse: 2, name: "no shadows" },
  { pixels: 0.75, shadow: 0, smooth: false, coarse: 4, name: "coarse" },
] as const;

/** A picture slower than this is slow, ms. */
const SLOW = 55;
/** How many just slow pictures in a row are too many; a very slow one counts more. */
const PATIENCE = 12;

export class Pace {
  level = 0;
  private slow = 0;
  private forgiven = 5;
  private last = 0;

  /** The next picture takes long for another reason: shapes are made, shaders compiled. */
  forgive(): void {
    this.forgiven = 3;
  }

  /** A picture was drawn; `flowing` says whether the one before was drawn as part of the same movement. True on a change of level. */
  drawn(now: number, flowing: boolean): boolean {
    const took = now - this.last;
    this.last = now;
    if (!flowing) return false; // it rested in between
    if (this.forgiven > 0) {
      this.forgiven--;
      return false;
    }
    this.slow = took > SLOW ? this.slow + Math.min(PATIENCE / 2, took / SLOW) : Math.max(0, this.slow - 1);
    if (this.slow < PATIENCE || this.level === LEVELS.length - 1) return false;
    this.slow = 0;
    this.level++;
    return true;
  }

  get now(): (typeof LEVELS)[number] {
    return LEVELS[this.level]!;
  }
}
