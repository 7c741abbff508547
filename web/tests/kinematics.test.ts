import { describe, expect, it } from "vitest";

import type { Scene } from "../src/generated/messages";
import { Kinematics, POSE } from "../src/scene/kinematics";
import jointsPoses from "./scenes/joints/poses.json";
import jointsScene from "./scenes/joints/scene.json";
import quadrupedPoses from "./scenes/quadruped-walk/poses.json";
import quadrupedScene from "./scenes/quadruped-walk/scene.json";

interface Expected {
  qpos: number[];
  mocap: number[][];
  /** Position and quaternion of every body, from mj_kinematics. */
  poses: number[][];
}

/** The largest difference of any position or rotation from MuJoCo's own. */
function worst(scene: Scene, expected: Expected[], from = (qpos: number[]): Float64Array | Float32Array => new Float64Array(qpos)): number {
  const kinematics = new Kinematics(scene);
  let far = 0;
  for (const { qpos, mocap, poses } of expected) {
    const got = kinematics.pose(from(qpos), 0, Float64Array.from(mocap.flat()));
    poses.forEach((pose, body) => {
      const own = got.subarray(body * POSE, (body + 1) * POSE);
      const sign = pose.slice(3).reduce((sum, value, k) => sum + value * own[3 + k]!, 0) < 0 ? -1 : 1; // q and -q turn alike
      pose.forEach((value, k) => (far = Math.max(far, Math.abs(value - own[k]! * (k < 3 ? 1 : sign)))));
    });
  }
  return far;
}

describe("kinematics agree with MuJoCo", () => {
  const joints = jointsScene as unknown as Scene;
  const quadruped = quadrupedScene as unknown as Scene;

  it("for every kind of joint, anchors, refs, welded and mocap bodies", () => {
    expect(worst(joints, jointsPoses)).toBeLessThan(1e-8);
  });
  it("for a robot whose qpos came as float32", () => {
    expect(worst(quadruped, quadrupedPoses)).toBeLessThan(1e-8);
    expect(worst(quadruped, quadrupedPoses, (qpos) => new Float32Array(qpos))).toBeLessThan(1e-5);
  });
  it("at any row of many", () => {
    const kinematics = new Kinematics(quadruped);
    const [first, second] = [quadrupedPoses[0]!.qpos, quadrupedPoses[1]!.qpos];
    const alone = kinematics.pose(new Float64Array(second), 0).slice();
    expect(kinematics.pose(new Float64Array([...first, ...second]), quadruped.nq)).toEqual(alone);
  });
  it("keeps a mocap body where the model put it while no pose is known", () => {
    const hand = joints.bodies.findIndex((body) => body.mocap === 0);
    const poses = new Kinematics(joints).pose(new Float64Array(joints.home), 0);
    expect([...poses.subarray(hand * POSE, hand * POSE + 3)]).toEqual([...joints.bodies[hand]!.pos]);
  });
});
