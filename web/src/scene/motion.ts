/** The newest poses and the way there: frames come at their own pace, pictures between two of them are blended. */

import type { Scene } from "../generated/messages";
import type { Frame } from "./frames";
import { blend } from "./quaternion";

/** A pause longer than this is a jump, not a movement, ms. */
const JUMP = 400;

export class Motion {
  /** What to draw: one row per world. */
  qpos: Float32Array = new Float32Array(0);
  worlds: Uint32Array = new Uint32Array(0);
  /** Typical time between two frames, ms. */
  interval = 33;
  private readonly nq: number;
  private readonly turns: number[];
  private before: Float32Array = new Float32Array(0);
  private after: Float32Array = new Float32Array(0);
  private ages: Uint32Array = new Uint32Array(0);
  private arrived = -Infinity;
  private share = 1;

  constructor(json: Scene) {
    this.nq = json.nq;
    this.turns = json.bodies
      .flatMap((body) => body.joints)
      .flatMap(({ kind, qpos }) => (kind === "free" ? [qpos + 3] : kind === "ball" ? [qpos] : []));
  }

  /** qpos of the last frame. */
  get latest(): Float32Array {
    return this.after;
  }

  get count(): number {
    return this.worlds.length;
  }

  /** Takes a frame that arrived now; true where it shows other worlds than the last one. */
  receive(frame: Frame, now: number): boolean {
    const others = frame.n !== this.count || frame.worlds.some((world, i) => world !== this.worlds[i]);
    const waited = now - this.arrived;
    this.arrived = now;
    if (others || waited > JUMP) {
      this.qpos = frame.qpos.slice();
      this.before = frame.qpos.slice();
    } else {
      this.interval += 0.1 * (Math.min(waited, 200) - this.interval);
      this.before.set(this.qpos);
      for (let world = 0; world < frame.n; world++) {
        if (frame.ages[world]! < this.ages[world]!) this.before.set(row(frame.qpos, world, this.nq), world * this.nq); // begun anew
      }
    }
    this.after = frame.qpos;
    this.ages = frame.ages;
    this.worlds = frame.worlds;
    this.share = 0;
    return others;
  }

  /** Moves `qpos` to where it should be by now; true while there is more to come. `smooth` false goes there at once. */
  advance(now: number, smooth: boolean): boolean {
    if (this.share >= 1) return false;
    this.share = smooth ? Math.min(1, Math.max(0, (now - this.arrived) / this.interval)) : 1;
    const { qpos, before, after, share } = this;
    if (share === 1) {
      qpos.set(after);
      return false;
    }
    for (let i = 0; i < qpos.length; i++) qpos[i] = before[i]! + (after[i]! - before[i]!) * share;
    for (let at = 0; at < qpos.length; at += this.nq) {
      for (const turn of this.turns) blend(qpos, at + turn, before, at + turn, after, at + turn, share);
    }
    return true;
  }
}

function row(qpos: Float32Array, world: number, nq: number): Float32Array {
  return qpos.subarray(world * nq, (world + 1) * nq);
}
