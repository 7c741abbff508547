import { describe, expect, it } from "vitest";

import type { Scene } from "../src/generated/messages";
import type { Frame } from "../src/scene/frames";
import { Motion } from "../src/scene/motion";

/** A body that flies freely, with a wheel: position, quaternion, angle. */
const SCENE = {
  nq: 8,
  bodies: [{ joints: [] }, { joints: [{ kind: "free", qpos: 0 }] }, { joints: [{ kind: "hinge", qpos: 7 }] }],
} as unknown as Scene;
const LEVEL = [1, 0, 0, 0];
const UPSIDE = [0, 1, 0, 0];

function frame(rows: number[][], ages = rows.map(() => 10), worlds = rows.map((_, i) => i)): Frame {
  const tail = { dropped: 0, steps_per_s: 0, world: 0 };
  return { stream: 0, seq: 0, envSteps: 0, n: rows.length, nq: 8, ages: Uint32Array.from(ages), worlds: Uint32Array.from(worlds), qpos: Float32Array.from(rows.flat()), tail };
}

const row = (x: number, quat: number[], angle = 0) => [x, 0, 0, ...quat, angle];

describe("motion between frames", () => {
  it("shows the first frame as it is", () => {
    const motion = new Motion(SCENE);
    expect(motion.receive(frame([row(3, LEVEL)]), 0)).toBe(true);
    motion.advance(0, true);
    expect(motion.qpos[0]).toBe(3);
  });
  it("goes from one to the next and rests there", () => {
    const motion = new Motion(SCENE);
    motion.receive(frame([row(0, LEVEL)]), 0);
    expect(motion.receive(frame([row(1, LEVEL, 2)], [11]), 33)).toBe(false);
    expect(motion.advance(33 + motion.interval / 2, true)).toBe(true);
    expect(motion.qpos[0]).toBeCloseTo(0.5, 5);
    expect(motion.qpos[7]).toBeCloseTo(1, 5);
    expect(motion.advance(100, true)).toBe(false);
    expect([motion.qpos[0], motion.qpos[7]]).toEqual([1, 2]);
    expect(motion.advance(200, true)).toBe(false);
  });
  it("turns by unit quaternions", () => {
    const motion = new Motion(SCENE);
    motion.receive(frame([row(0, LEVEL)]), 0);
    motion.receive(frame([row(0, UPSIDE)], [11]), 33);
    motion.advance(33 + motion.interval / 2, true);
    const quat = motion.qpos.subarray(3, 7);
    expect(Math.hypot(...quat)).toBeCloseTo(1, 6);
    expect(quat[0]).toBeCloseTo(quat[1]!, 5);
  });
  it("jumps where an episode began anew, and only there", () => {
    const motion = new Motion(SCENE);
    motion.receive(frame([row(0, LEVEL), row(0, LEVEL)], [50, 50]), 0);
    motion.receive(frame([row(4, LEVEL), row(4, LEVEL)], [51, 1]), 33);
    motion.advance(33, true);
    expect([motion.qpos[0], motion.qpos[8]]).toEqual([0, 4]);
  });
  it("jumps to other worlds, after a pause, and where pictures are slow", () => {
    const motion = new Motion(SCENE);
    motion.receive(frame([row(0, LEVEL)]), 0);
    expect(motion.receive(frame([row(1, LEVEL)], [11], [5]), 33)).toBe(true);
    motion.advance(33, true);
    expect(motion.qpos[0]).toBe(1);
    motion.receive(frame([row(2, LEVEL)], [12], [5]), 2000);
    motion.advance(2000, true);
    expect(motion.qpos[0]).toBe(2);
    motion.receive(frame([row(3, LEVEL)], [13], [5]), 2033);
    expect(motion.advance(2033, false)).toBe(false);
    expect(motion.qpos[0]).toBe(3);
  });
});
