/** How large a scene's robot is and where it stands, from its home pose: cameras, grids and arrows are sized by it. */

import { Matrix4, Vector3 } from "three";

import type { SceneGeom } from "../generated/messages";
import { isVisible, placeOf } from "./body_shapes";
import { Kinematics, POSE } from "./kinematics";
import { matrixOfPose } from "./quaternion";
import { fixedBodies, type SceneModel } from "./scene_model";

export interface Extent {
  /** Middle of all that moves, at home. */
  centre: Vector3;
  /** Half the sides of a box around it. */
  box: Vector3;
  /** Radius of a ball around it, and of a circle around it on the floor. */
  radius: number;
  girth: number;
  /** Whence it is seen well. */
  from: Vector3;
  /** The body that is followed: the first that moves; its place at home. */
  root: number;
  rootAt: Vector3;
  /** Half the side of a square around everything but floors. */
  half: number;
  /** Height of the floor; null where there is none. */
  floor: number | null;
  /** What the robot weighs, N. */
  weight: number;
}

export function extentOf(model: SceneModel): Extent {
  const { json } = model;
  const poses = new Kinematics(json).pose(new Float64Array(json.home), 0);
  const fixed = fixedBodies(json);
  const low = new Vector3(Infinity, Infinity, Infinity), high = low.clone().negate();
  const at = new Vector3(), frame = new Matrix4(), elements = new Float32Array(16);
  let half = 0, floor: number | null = null;
  for (const geom of json.geoms) {
    matrixOfPose(elements, 0, poses, geom.body * POSE, 0, 0);
    at.setFromMatrixPosition(frame.fromArray(elements).multiply(placeOf(geom)));
    if (isGround(geom, fixed)) {
      floor = geom.kind === "plane" ? Math.min(floor ?? Infinity, at.z) : floor;
      continue;
    }
    if (!isVisible(geom, false)) continue;
    const reach = reachOf(geom, model);
    half = Math.max(half, Math.abs(at.x) + reach[0], Math.abs(at.y) + reach[1]);
    if (fixed[geom.body]) continue;
    const ball = Math.max(...reach);
    low.min(at.clone().subScalar(ball));
    high.max(at.clone().addScalar(ball));
  }
  if (low.x > high.x) low.set(-0.5, -0.5, 0), high.set(0.5, 0.5, 1);
  const root = Math.max(0, fixed.indexOf(false));
  return {
    centre: low.clone().add(high).multiplyScalar(0.5),
    box: high.clone().sub(low).multiplyScalar(0.5),
    radius: Math.max(0.05, low.distanceTo(high) / 2),
    girth: Math.hypot(high.x - low.x, high.y - low.y) / 2,
    from: viewFrom(model, poses),
    root,
    rootAt: new Vector3(poses[root * POSE], poses[root * POSE + 1], poses[root * POSE + 2]),
    half,
    floor,
    weight: 9.81 * Math.max(0.01, json.bodies.reduce((sum, body, i) => sum + (fixed[i] ? 0 : body.mass), 0)),
  };
}

/** The direction of the model's camera that tracks the robot, where it has one. */
function viewFrom({ json: { cameras } }: SceneModel, poses: Float64Array): Vector3 {
  const lens = cameras.find((camera) => camera.name === "track");
  if (lens === undefined) return new Vector3(1.1, 0.8, 0.5);
  const elements = new Float32Array(16);
  matrixOfPose(elements, 0, poses, lens.body * POSE, 0, 0);
  return new Vector3().setFromMatrixColumn(new Matrix4().fromArray(elements).multiply(placeOf(lens)), 2);
}

/** A plane that stands still is the floor; a height field lies on it. */
export function isGround(geom: SceneGeom, fixed: boolean[]): boolean {
  return fixed[geom.body]! && (geom.kind === "plane" || geom.kind === "hfield");
}

/** Half extents of a geom along x and y of the stage, and its longest, as if it were not turned. */
function reachOf({ kind, size: [a, b, c], mesh }: SceneGeom, model: SceneModel): [number, number, number] {
  if (kind === "mesh") {
    const far = model.meshes[mesh]!.vertices.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return [far, far, far];
  }
  if (kind === "box" || kind === "ellipsoid") return [a, b, c];
  const long = kind === "sphere" ? a : kind === "capsule" ? a + b : Math.max(a, b);
  return [long, long, long];
}
