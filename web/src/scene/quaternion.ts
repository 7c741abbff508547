/** Rotations by unit quaternions (w, x, y, z) at offsets of flat arrays: MuJoCo's order, and nothing allocated per frame. */

export type Numbers = Float64Array | Float32Array;

/** out = a * b; out may be a or b. */
export function multiply(out: Numbers, o: number, a: Numbers, i: number, b: Numbers, j: number): void {
  const aw = a[i]!, ax = a[i + 1]!, ay = a[i + 2]!, az = a[i + 3]!;
  const bw = b[j]!, bx = b[j + 1]!, by = b[j + 2]!, bz = b[j + 3]!;
  out[o] = aw * bw - ax * bx - ay * by - az * bz;
  out[o + 1] = aw * bx + ax * bw + ay * bz - az * by;
  out[o + 2] = aw * by - ax * bz + ay * bw + az * bx;
  out[o + 3] = aw * bz + ax * by - ay * bx + az * bw;
}

/** out = v turned by q; out may be v. */
export function rotate(out: Numbers, o: number, q: Numbers, i: number, v: Numbers, j: number): void {
  const w = q[i]!, x = q[i + 1]!, y = q[i + 2]!, z = q[i + 3]!;
  const vx = v[j]!, vy = v[j + 1]!, vz = v[j + 2]!;
  const tx = 2 * (y * vz - z * vy), ty = 2 * (z * vx - x * vz), tz = 2 * (x * vy - y * vx);
  out[o] = vx + w * tx + y * tz - z * ty;
  out[o + 1] = vy + w * ty + z * tx - x * tz;
  out[o + 2] = vz + w * tz + x * ty - y * tx;
}

/** Scales q to length 1; a null quaternion becomes the identity, as in MuJoCo. */
export function normalize(q: Numbers, i: number): void {
  const length = Math.hypot(q[i]!, q[i + 1]!, q[i + 2]!, q[i + 3]!);
  if (length < 1e-15) {
    q[i] = 1;
    q[i + 1] = q[i + 2] = q[i + 3] = 0;
    return;
  }
  const scale = 1 / length;
  q[i]! *= scale;
  q[i + 1]! *= scale;
  q[i + 2]! *= scale;
  q[i + 3]! *= scale;
}

/** out = the turn by an angle about a unit axis. */
export function turn(out: Numbers, o: number, axis: Numbers, i: number, angle: number): void {
  const sine = Math.sin(angle / 2);
  out[o] = Math.cos(angle / 2);
  out[o + 1] = axis[i]! * sine;
  out[o + 2] = axis[i + 1]! * sine;
  out[o + 3] = axis[i + 2]! * sine;
}

/** out = the shorter way from a to b, a share of it gone; normalised linear, which is enough between two frames. */
export function blend(out: Numbers, o: number, a: Numbers, i: number, b: Numbers, j: number, share: number): void {
  const dot = a[i]! * b[j]! + a[i + 1]! * b[j + 1]! + a[i + 2]! * b[j + 2]! + a[i + 3]! * b[j + 3]!;
  const there = dot < 0 ? -share : share;
  for (let k = 0; k < 4; k++) out[o + k] = a[i + k]! * (1 - share) + b[j + k]! * there;
  normalize(out, o);
}

/** Column-major 4 x 4 matrix of a pose (position and quaternion), moved by an offset in the plane. */
export function matrixOfPose(out: Float32Array, o: number, pose: Numbers, p: number, dx: number, dy: number): void {
  const w = pose[p + 3]!, x = pose[p + 4]!, y = pose[p + 5]!, z = pose[p + 6]!;
  out[o] = 1 - 2 * (y * y + z * z);
  out[o + 1] = 2 * (x * y + w * z);
  out[o + 2] = 2 * (x * z - w * y);
  out[o + 3] = 0;
  out[o + 4] = 2 * (x * y - w * z);
  out[o + 5] = 1 - 2 * (x * x + z * z);
  out[o + 6] = 2 * (y * z + w * x);
  out[o + 7] = 0;
  out[o + 8] = 2 * (x * z + w * y);
  out[o + 9] = 2 * (y * z - w * x);
  out[o + 10] = 1 - 2 * (x * x + y * y);
  out[o + 11] = 0;
  out[o + 12] = pose[p]! + dx;
  out[o + 13] = pose[p + 1]! + dy;
  out[o + 14] = pose[p + 2]!;
  out[o + 15] = 1;
}
