/** Where every body is, from qpos alone: MuJoCo's mj_kinematics for free, ball, slide and hinge joints, nested and mocap bodies. */

import type { Scene } from "../generated/messages";
import { multiply, normalize, rotate, turn, type Numbers } from "./quaternion";

const KINDS = ["free", "ball", "slide", "hinge"];
const [FREE, , SLIDE, HINGE] = [0, 1, 2, 3];
/** Numbers per pose: a position and a quaternion (w, x, y, z). */
export const POSE = 7;

export class Kinematics {
  readonly nbody: number;
  readonly nq: number;
  /** Poses of the last call, one row of POSE numbers per body. */
  readonly poses: Float64Array;
  private readonly parent: Int32Array;
  private readonly mocap: Int32Array;
  private readonly rest: Float64Array;
  private readonly firstJoint: Int32Array;
  private readonly kind: Uint8Array;
  private readonly address: Int32Array;
  private readonly axis: Float64Array;
  private readonly anchor: Float64Array;
  private readonly ref: Float64Array;
  private readonly scratch = new Float64Array(12);

  constructor(json: Scene) {
    const joints = json.bodies.flatMap((body) => body.joints);
    this.nbody = json.bodies.length;
    this.nq = json.nq;
    this.poses = new Float64Array(this.nbody * POSE);
    this.poses[3] = 1;
    this.parent = Int32Array.from(json.bodies, (body) => body.parent);
    this.mocap = Int32Array.from(json.bodies, (body) => body.mocap);
    this.rest = Float64Array.from(json.bodies.flatMap((body) => [...body.pos, ...body.quat]));
    this.firstJoint = new Int32Array(this.nbody + 1);
    json.bodies.forEach((body, index) => (this.firstJoint[index + 1] = this.firstJoint[index]! + body.joints.length));
    this.kind = Uint8Array.from(joints, (joint) => KINDS.indexOf(joint.kind));
    this.address = Int32Array.from(joints, (joint) => joint.qpos);
    this.axis = Float64Array.from(joints.flatMap((joint) => joint.axis));
    this.anchor = Float64Array.from(joints.flatMap((joint) => joint.pos));
    this.ref = Float64Array.from(joints, (joint) => joint.ref);
  }

  /** Fills `poses` from the row of qpos at an offset; mocap bodies without a pose stay where the model put them. */
  pose(qpos: Numbers, at: number, mocap?: Numbers): Float64Array {
    const { poses, parent, rest, firstJoint } = this;
    for (let body = 1; body < this.nbody; body++) {
      const p = body * POSE;
      const joint = firstJoint[body]!, end = firstJoint[body + 1]!;
      const row = this.mocap[body]!;
      if (end === joint + 1 && this.kind[joint] === FREE) {
        const address = at + this.address[joint]!;
        for (let k = 0; k < POSE; k++) poses[p + k] = qpos[address + k]!;
      } else if (row >= 0 && mocap !== undefined && mocap.length >= (row + 1) * POSE) {
        for (let k = 0; k < POSE; k++) poses[p + k] = mocap[row * POSE + k]!;
      } else {
        const up = parent[body]! * POSE;
        rotate(poses, p, poses, up + 3, rest, p);
        for (let k = 0; k < 3; k++) poses[p + k]! += poses[up + k]!;
        multiply(poses, p + 3, poses, up + 3, rest, p + 3);
        for (let j = joint; j < end; j++) this.move(p, j, qpos, at);
      }
      normalize(poses, p + 3);
    }
    return poses;
  }

  /** Moves the body whose pose is at p by one joint. */
  private move(p: number, joint: number, qpos: Numbers, at: number): void {
    const { poses, scratch } = this;
    const address = at + this.address[joint]!;
    const kind = this.kind[joint]!;
    if (kind === SLIDE) {
      rotate(scratch, 0, poses, p + 3, this.axis, joint * 3);
      const far = qpos[address]! - this.ref[joint]!;
      for (let k = 0; k < 3; k++) poses[p + k]! += scratch[k]! * far;
      return;
    }
    rotate(scratch, 0, poses, p + 3, this.anchor, joint * 3); // where the anchor was, seen from the body
    if (kind === HINGE) {
      turn(scratch, 6, this.axis, joint * 3, qpos[address]! - this.ref[joint]!);
    } else {
      for (let k = 0; k < 4; k++) scratch[6 + k] = qpos[address + k]!;
      normalize(scratch, 6);
    }
    multiply(poses, p + 3, poses, p + 3, scratch, 6);
    rotate(scratch, 3, poses, p + 3, this.anchor, joint * 3);
    for (let k = 0; k < 3; k++) poses[p + k]! += scratch[k]! - scratch[3 + k]!; // the anchor stays
  }
}
