/** A scene as the server sends it: scene.json names bodies, joints and geoms, scene.bin holds meshes and heights. */

import type { Scene, SceneHeights } from "../generated/messages";

export interface Mesh {
  vertices: Float32Array;
  faces: Uint32Array;
}

export type Heights = Omit<SceneHeights, "data"> & { data: Float32Array };

/** A scene with its big arrays as views of scene.bin. */
export interface SceneModel {
  json: Scene;
  meshes: Mesh[];
  heights: Heights[];
}

const VERSION = 1;

export function readScene(json: Scene, bin: ArrayBuffer): SceneModel {
  if (json.version !== VERSION) {
    throw new Error(`This scene is of version ${json.version}; this page reads ${VERSION}. Load the page again.`);
  }
  return {
    json,
    meshes: json.meshes.map(({ vertices, faces }) => ({
      vertices: new Float32Array(bin, vertices[0], vertices[1]),
      faces: new Uint32Array(bin, faces[0], faces[1]),
    })),
    heights: json.heights.map((heights) => ({ ...heights, data: new Float32Array(bin, heights.data[0], heights.data[1]) })),
  };
}

/** Whether each body stays where the model put it: neither it nor any ancestor has a joint or is moved as a mocap body. */
export function fixedBodies(json: Scene): boolean[] {
  const fixed: boolean[] = [];
  json.bodies.forEach((body, index) => {
    fixed.push(index === 0 || (fixed[body.parent]! && body.joints.length === 0 && body.mocap < 0));
  });
  return fixed;
}
