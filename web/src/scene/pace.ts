/** Keeps the picture fluent: watches how long pictures take and, where the graphics are slow, draws less. Never silently: `now` is shown. */

/** What each level draws: pixels per CSS pixel at most, side of the shadow map, whether frames are blended, for how many times as many robots shapes are made. */
export const LEVELS = [
  { pixels: 2, shadow: 2048, smooth: true, coarse: 1, name: "full" },
  { pixels: 1, shadow: 1024, smooth: true, coarse: 1, name: "plain" },
  { pixels: 1, shadow: 0, smooth: true, coarse: 2, name: "no shadows" },
  { pixels: 0.75, shadow: 0, smooth: false, coarse: 4, name: "coarse" },
] as const;

export type Level = (typeof LEVELS)[number];

/** A picture slower than this is slow, ms. */
const SLOW = 55;
/** A picture slower than this is drawn by the processor: nothing but the least will help, ms. */
const HOPELESS = 600;
/** How many just slow pictures in a row are too many; a very slow one counts more. */
const PATIENCE = 12;
/** Pictures after a change that take long for another reason: shapes are made, shaders compiled. */
const FORGIVEN = 3;
/** The longest a slow machine is left alone between two pictures, ms. */
const MOST_REST = 250;

export class Pace {
  level = 0;
  private pinned = false;
  private slow = 0;
  private last = 0;
  private took = 0;
  private forgiven = FORGIVEN;

  get now(): Level {
    return LEVELS[this.level]!;
  }

  /** Draws as a level says from now on, however slow; null chooses by itself again, from the first. */
  pin(name: string | null): void {
    this.pinned = name !== null;
    this.level = Math.max(0, LEVELS.findIndex((level) => level.name === name));
    this.slow = 0;
    this.forgive();
  }

  forgive(): void {
    this.forgiven = FORGIVEN;
  }

  /** A picture was drawn; `flowing` says whether the one before was part of the same movement. True on a change of level. */
  drawn(now: number, flowing: boolean): boolean {
    const took = now - this.last;
    this.last = now;
    const isForgiven = this.forgiven > 0;
    if (isForgiven) this.forgiven--;
    if (!flowing) return false; // it rested in between
    this.took = took;
    if (isForgiven) return false;
    this.slow = took > SLOW ? this.slow + Math.min(PATIENCE / 2, took / SLOW) : Math.max(0, this.slow - 1);
    if (this.pinned || this.slow < PATIENCE || this.level === LEVELS.length - 1) return false;
    this.slow = 0;
    this.level = took > HOPELESS ? LEVELS.length - 1 : this.level + 1;
    return true;
  }

  /** How long to leave the machine alone before the next frame, ms: where the processor draws, others need it too. */
  get rest(): number {
    return this.now.smooth ? 0 : Math.min(MOST_REST, this.took);
  }
}
