/** Which robot and body are under the pointer. */

import { Matrix4, Raycaster, Vector2, Vector3, type Camera, type InstancedMesh } from "three";

import type { Swarm } from "./swarm";

export interface Hit {
  /** Place of the world among those shown. */
  slot: number;
  body: number;
  /** On the stage. */
  point: Vector3;
  /** In the body's frame. */
  local: Vector3;
}

const ray = new Raycaster();
const at = new Vector2();
const matrix = new Matrix4();

/** x and y of a pointer on a canvas, from -1 to 1. */
export function pointerAt(event: { clientX: number; clientY: number }, canvas: HTMLCanvasElement, out = at): Vector2 {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  return out.set(((event.clientX - left) / width) * 2 - 1, 1 - ((event.clientY - top) / height) * 2);
}

export function pick(swarm: Swarm, camera: Camera, pointer: Vector2): Hit | null {
  ray.setFromCamera(pointer, camera);
  const meshes = swarm.meshes.filter((mesh) => (swarm.bodyOf(mesh) ?? -1) >= 0);
  for (const mesh of meshes) mesh.boundingSphere = null; // of where its robots were when it was last asked
  const hit = ray.intersectObjects(meshes, false)[0];
  if (hit?.instanceId === undefined) return null;
  const mesh = hit.object as InstancedMesh;
  mesh.getMatrixAt(hit.instanceId, matrix);
  return { slot: hit.instanceId, body: swarm.bodyOf(mesh)!, point: hit.point, local: hit.point.clone().applyMatrix4(matrix.invert()) };
}

/** Where the pointer's ray meets the plane through a point that faces the camera. */
export function facing(camera: Camera, pointer: Vector2, through: Vector3, out: Vector3): Vector3 {
  ray.setFromCamera(pointer, camera);
  const normal = camera.getWorldDirection(new Vector3());
  const far = through.clone().sub(ray.ray.origin).dot(normal) / ray.ray.direction.dot(normal);
  return ray.ray.at(far, out);
}
