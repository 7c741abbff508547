/** All visible geoms of a body as one geometry, so that a robot costs one draw call per body however many parts it has. */

import { BufferAttribute, BufferGeometry, Color, Matrix4, Quaternion, SRGBColorSpace, Vector3 } from "three";
import { mergeGeometries } from "three/addons/utils/BufferGeometryUtils.js";

import type { SceneGeom } from "../generated/messages";
import type { SceneModel } from "./scene_model";
import { length, shapeOf, type Detail } from "./shapes";
import { roughnessOf, SURFACE } from "./surface";

export interface BodyShape {
  solid: BufferGeometry | null;
  clear: BufferGeometry | null;
}

/** Geoms of group 3 and more are there to collide. */
export const COLLISION_GROUP = 3;

export function isVisible(geom: SceneGeom, collision: boolean): boolean {
  return geom.rgba[3] > 0 && (collision || geom.group < COLLISION_GROUP);
}

/** The parts of a body, each where `place` has it in the body's frame. */
export function bodyShape(geoms: readonly SceneGeom[], model: SceneModel, detail: Detail, radius: number, frame?: Matrix4): BodyShape {
  const parts: Record<keyof BodyShape, BufferGeometry[]> = { solid: [], clear: [] };
  for (const geom of geoms) {
    if (frame === undefined && length(geom) < detail.smallest * radius) continue; // trimmings
    const shape = shapeOf(geom, model, detail, radius);
    if (shape === null) continue;
    const placed = paint(shape.index === null ? withIndex(shape) : shape, geom).applyMatrix4(placeOf(geom));
    parts[geom.rgba[3] < 1 ? "clear" : "solid"].push(frame === undefined ? placed : placed.applyMatrix4(frame));
  }
  return { solid: merged(parts.solid), clear: merged(parts.clear) };
}

function merged(parts: BufferGeometry[]): BufferGeometry | null {
  if (parts.length === 0) return null;
  const whole = mergeGeometries(parts);
  for (const part of parts) part.dispose();
  return whole;
}

export function placeOf({ pos, quat: [w, x, y, z] }: Pick<SceneGeom, "pos" | "quat">): Matrix4 {
  return new Matrix4().compose(new Vector3(...pos), new Quaternion(x, y, z, w), new Vector3(1, 1, 1));
}

const colour = new Color();

function paint(shape: BufferGeometry, geom: SceneGeom): BufferGeometry {
  shape.deleteAttribute("uv");
  const count = shape.getAttribute("position").count;
  const [red, green, blue, alpha] = geom.rgba;
  const [specular, shininess, emission] = geom.shine;
  colour.setRGB(red, green, blue, SRGBColorSpace);
  const colours = new Float32Array(count * 4);
  const surfaces = new Float32Array(count * 2);
  for (let i = 0; i < count; i++) {
    colours.set([colour.r, colour.g, colour.b, alpha], i * 4);
    surfaces.set([roughnessOf(specular, shininess), emission], i * 2);
  }
  shape.setAttribute("color", new BufferAttribute(colours, 4));
  shape.setAttribute(SURFACE, new BufferAttribute(surfaces, 2));
  return shape;
}

function withIndex(shape: BufferGeometry): BufferGeometry {
  const count = shape.getAttribute("position").count;
  return shape.setIndex(new BufferAttribute(Uint32Array.from({ length: count }, (_, i) => i), 1));
}
