/** The geometry of a geom: MuJoCo's shapes with z up, as fine as there are few robots to draw. */

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  CylinderGeometry,
  PlaneGeometry,
  SphereGeometry,
} from "three";
import { toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";

import type { SceneGeom } from "../generated/messages";
import type { Heights, Mesh, SceneModel } from "./scene_model";

/** How finely to draw. */
export interface Detail {
  /** Segments around a part as large as the robot. */
  segments: number;
  /** Parts that nowhere reach farther than this share of the robot's radius are left out. */
  smallest: number;
}

/** Fewer triangles for more robots: what is small on the screen needs none. */
export function detailFor(robots: number): Detail {
  if (robots <= 4) return { segments: 32, smallest: 0 };
  if (robots <= 20) return { segments: 20, smallest: 0.015 };
  if (robots <= 64) return { segments: 12, smallest: 0.03 };
  if (robots <= 256) return { segments: 8, smallest: 0.045 };
  return { segments: 6, smallest: 0.08 };
}

/** A geom's radius, or half its middle side: how round it has to look. */
function breadth({ kind, size }: SceneGeom): number {
  if (kind === "sphere" || kind === "capsule" || kind === "cylinder") return size[0];
  return [...size].sort((a, b) => a - b)[1]!;
}

/** How far a geom reaches from its middle. */
export function length({ kind, size: [a, b, c] }: SceneGeom): number {
  if (kind === "sphere") return a;
  return kind === "capsule" ? a + b : kind === "cylinder" ? Math.max(a, b) : Math.max(a, b, c);
}

/** null where there is nothing to draw: a plane without an end is the ground, a height field lies on it. */
export function shapeOf(geom: SceneGeom, model: SceneModel, detail: Detail, radius: number): BufferGeometry | null {
  const [a, b, c] = geom.size;
  const around = segments(detail, breadth(geom), radius);
  switch (geom.kind) {
    case "sphere":
      return new SphereGeometry(a, around, half(around)).rotateX(Math.PI / 2);
    case "ellipsoid":
      return new SphereGeometry(1, around, half(around)).rotateX(Math.PI / 2).scale(a, b, c);
    case "capsule":
      return new CapsuleGeometry(a, 2 * b, Math.max(2, around >> 2), around, 1).rotateX(Math.PI / 2);
    case "cylinder":
      return new CylinderGeometry(a, a, 2 * b, around).rotateX(Math.PI / 2);
    case "box":
      return new BoxGeometry(2 * a, 2 * b, 2 * c);
    case "plane":
      return a > 0 && b > 0 ? new PlaneGeometry(2 * a, 2 * b) : null;
    case "mesh":
      return meshShape(model.meshes[geom.mesh]!);
    default:
      return null;
  }
}

function segments(detail: Detail, breadthOf: number, radius: number): number {
  const share = Math.min(1, 0.35 + (2.5 * breadthOf) / radius);
  return Math.max(6, 2 * Math.round((detail.segments * share) / 2));
}

const half = (around: number): number => Math.max(4, around >> 1);

/** Faces that meet at less than 35 degrees are smooth, others have an edge. */
function meshShape({ vertices, faces }: Mesh): BufferGeometry {
  const plain = new BufferGeometry();
  plain.setAttribute("position", new BufferAttribute(vertices.slice(), 3));
  plain.setIndex(new BufferAttribute(faces.slice(), 1));
  return toCreasedNormals(plain, (35 * Math.PI) / 180);
}

/** The upper side of a height field, and a skirt around it. */
export function heightsShape({ rows, cols, size, data }: Heights): BufferGeometry {
  const [alongX, alongY, up] = size;
  const positions = new Float32Array(rows * cols * 3);
  for (let row = 0, at = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      positions[at++] = alongX * ((2 * col) / (cols - 1) - 1);
      positions[at++] = alongY * ((2 * row) / (rows - 1) - 1);
      positions[at++] = up * data[row * cols + col]!;
    }
  }
  const index = new Uint32Array((rows - 1) * (cols - 1) * 6);
  for (let row = 0, at = 0; row < rows - 1; row++) {
    for (let col = 0; col < cols - 1; col++) {
      const corner = row * cols + col;
      index.set([corner, corner + 1, corner + cols + 1, corner, corner + cols + 1, corner + cols], at);
      at += 6;
    }
  }
  const field = new BufferGeometry();
  field.setAttribute("position", new BufferAttribute(positions, 3));
  field.setIndex(new BufferAttribute(index, 1));
  field.computeVertexNormals();
  return field;
}
