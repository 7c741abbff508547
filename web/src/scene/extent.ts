/** How large a scene's robot is and where it stands, from its home pose: cameras, grids and arrows are sized by it. */

import { Matrix4, Vector3 } from "three";

import type { Scene, SceneGeom } from "../generated/messages";
import { isVisible, placeOf } from "./body_shapes";
import { Kinematics, POSE } from "./kinematics";
import type { Gap } from "./layout";
import { matrixOfPose } from "./quaternion";
import { fixedBodies, type SceneModel } from "./scene_model";

export interface Extent {
  /** Middle of all that moves, wherever joints without limits can take it. */
  centre: Vector3;
  /** Half the sides of a box around it. */
  box: Vector3;
  /** Radius of a ball around it, and of a circle around it on the floor. */
  radius: number;
  girth: number;
  /** Whence it is seen well, and whence many are. */
  from: Vector3;
  fromAfar: Vector3;
  /** The body that is followed: the first that moves; its place at home. */
  root: number;
  rootAt: Vector3;
  /** How far apart worlds stand that do not meet. */
  gap: Gap;
  /** Whether it moves about in a place much larger than itself. */
  roams: boolean;
  /** Height of the floor; null where there is none. */
  floor: number | null;
  /** What the robot weighs, N. */
  weight: number;
}

const GRAVITY = 9.81;

export function extentOf(model: SceneModel): Extent {
  const { json } = model;
  const fixed = fixedBodies(json);
  const low = new Vector3(Infinity, Infinity, Infinity), high = low.clone().negate();
  const at = new Vector3(), reach = new Vector3(), matrix = new Matrix4();
  const kinematics = new Kinematics(json);
  let halfX = 0, halfY = 0, floor: number | null = null;
  for (const qpos of typicalPoses(json)) {
    const poses = kinematics.pose(qpos, 0);
    for (const geom of json.geoms) {
      bodyMatrix(poses, geom.body, matrix).multiply(placeOf(geom));
      at.setFromMatrixPosition(matrix);
      if (isGround(geom, fixed)) {
        if (geom.kind === "plane") floor = Math.min(floor ?? Infinity, at.z);
      } else if (isVisible(geom, false)) {
        reachOf(geom, model, matrix, reach);
        halfX = Math.max(halfX, Math.abs(at.x) + reach.x);
        halfY = Math.max(halfY, Math.abs(at.y) + reach.y);
        if (fixed[geom.body]) continue;
        low.min(at.clone().sub(reach));
        high.max(at.clone().add(reach));
      }
    }
  }
  if (low.x > high.x) low.set(-0.5, -0.5, 0), high.set(0.5, 0.5, 1); // nothing moves here
  const poses = kinematics.pose(new Float64Array(json.home), 0);
  const root = Math.max(0, fixed.indexOf(false));
  const girth = Math.hypot(high.x - low.x, high.y - low.y) / 2;
  const box = high.clone().sub(low).multiplyScalar(0.5);
  const radius = Math.max(0.05, box.length());
  const from = viewFrom(json, poses);
  const directions = freedom(json, root);
  const apart = (half: number, side: number) => Math.max(2.15 * half, directions > 1 ? 2.7 * girth : 2 * side + 0.5 * radius);
  return {
    centre: low.clone().add(high).multiplyScalar(0.5),
    box,
    radius,
    girth,
    from,
    fromAfar: fromAfar(from),
    gap: [apart(halfX, box.x), apart(halfY, box.y)],
    root,
    rootAt: new Vector3().setFromMatrixPosition(bodyMatrix(poses, root, matrix)),
    roams: Math.max(halfX, halfY) > 4 * girth && directions > 1,
    floor,
    weight: GRAVITY * Math.max(0.01, json.bodies.reduce((sum, { mass }, i) => sum + (fixed[i] ? 0 : mass), 0)),
  };
}

/** A plane that stands still is the floor; a height field lies on it. */
export function isGround(geom: SceneGeom, fixed: boolean[]): boolean {
  return fixed[geom.body]! && (geom.kind === "plane" || geom.kind === "hfield");
}

/** Home, and home with each hinge that has no limits at three other quarters of its turn: a pole may hang or stand. */
function typicalPoses({ home, bodies }: Scene): Float64Array[] {
  const poses = [new Float64Array(home)];
  for (const { kind, low, qpos } of bodies.flatMap(({ joints }) => joints)) {
    if (kind !== "hinge" || low !== null) continue;
    for (const quarter of [1, 2, 3]) {
      const turned = new Float64Array(home);
      turned[qpos]! += (quarter * Math.PI) / 2;
      poses.push(turned);
    }
  }
  return poses;
}

/** In how many directions a body slides. */
function freedom({ bodies }: Scene, body: number): number {
  return bodies[body]!.joints.reduce((sum, { kind }) => sum + (kind === "free" ? 3 : kind === "slide" ? 1 : 0), 0);
}

/** The direction of the model's camera that tracks the robot, where it has one. */
function viewFrom({ cameras }: Scene, poses: Float64Array): Vector3 {
  const lens = cameras.find((camera) => camera.name === "track");
  if (lens === undefined) return new Vector3(1.1, 0.8, 0.5);
  return new Vector3().setFromMatrixColumn(bodyMatrix(poses, lens.body, new Matrix4()).multiply(placeOf(lens)), 2);
}

/** From above, and from whichever side is nearest: rows of robots are rows on the screen. */
function fromAfar({ x, y }: Vector3): Vector3 {
  const height = 0.62, aside = 0.22;
  if (Math.abs(x) >= Math.abs(y)) return new Vector3(Math.sign(x) || 1, aside, height);
  return new Vector3(aside, Math.sign(y), height);
}

const elements = new Float32Array(16);

function bodyMatrix(poses: Float64Array, body: number, out: Matrix4): Matrix4 {
  matrixOfPose(elements, 0, poses, body * POSE, 0, 0);
  return out.fromArray(elements);
}

/** Half the sides of an upright box around a geom that is turned as a matrix says. */
function reachOf({ kind, size: [a, b, c], mesh }: SceneGeom, model: SceneModel, { elements: m }: Matrix4, out: Vector3): Vector3 {
  const turned = (x: number, y: number, z: number) =>
    out.set(
      Math.abs(m[0]!) * x + Math.abs(m[4]!) * y + Math.abs(m[8]!) * z,
      Math.abs(m[1]!) * x + Math.abs(m[5]!) * y + Math.abs(m[9]!) * z,
      Math.abs(m[2]!) * x + Math.abs(m[6]!) * y + Math.abs(m[10]!) * z,
    );
  if (kind === "sphere") return out.setScalar(a);
  if (kind === "capsule") return turned(0, 0, b).addScalar(a);
  if (kind === "cylinder") return turned(a, a, b);
  if (kind === "mesh") return out.setScalar(model.meshes[mesh]!.vertices.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
  return turned(a, b, c);
}
