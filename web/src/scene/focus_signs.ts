/** What is drawn around the robot in focus: contact forces, the task's goals and commands, the pull of a drag, and a ring at its feet. */

import { Color, Matrix4, SRGBColorSpace, Vector3 } from "three";

import type { FrameTail } from "../generated/messages";
import type { Crowd } from "./crowd";
import type { Marker } from "./frames";
import type { Signs } from "./signs";

/** A body that is being pulled. */
export interface Drag {
  slot: number;
  body: number;
  /** Where it is held, in the body's frame. */
  local: Vector3;
  /** Where it is pulled to, on the stage. */
  target: Vector3;
}

interface Shown {
  contacts: boolean;
  drag: Drag | null;
  accent: Color;
}

const CONTACT = [0.98, 0.72, 0.12, 1];
const from = new Vector3();
const to = new Vector3();
const body = new Matrix4();
const rgb = new Color();

export function drawFocus(signs: Signs, crowd: Crowd, slot: number, tail: FrameTail | null, { contacts, drag, accent }: Shown): void {
  const { radius, girth, box, weight, floor } = crowd.extent;
  const dx = crowd.offsets[2 * slot]!, dy = crowd.offsets[2 * slot + 1]!;
  accent.getRGB(rgb, SRGBColorSpace);
  const colour = [rgb.r, rgb.g, rgb.b, 1];
  if (crowd.swarm.count > 1) {
    const feet = crowd.middleOf(slot, from).z - box.z;
    from.setFromMatrixPosition(crowd.poseOf(slot, crowd.extent.root, body));
    from.z = crowd.rim === null ? (floor ?? 0) + 0.02 * radius : feet;
    signs.ring(from, 1.1 * girth, colour);
  }
  for (const [x, y, z, nx, ny, nz, force] of contacts ? (tail?.contacts ?? []) : []) {
    const length = 0.9 * radius * Math.min(force / weight, 2.5);
    from.set(x + dx, y + dy, z);
    to.set(nx, ny, nz).multiplyScalar(length).add(from);
    signs.arrow(from, to, 0.035 * radius, CONTACT);
  }
  for (const marker of (tail?.markers ?? []) as unknown as Marker[]) drawMarker(signs, marker, dx, dy);
  if (drag !== null) {
    from.copy(drag.local).applyMatrix4(crowd.poseOf(drag.slot, drag.body, body));
    signs.sphere(from, 0.05 * radius, colour);
    signs.arrow(from, drag.target, 0.045 * radius, colour);
  }
}

function drawMarker(signs: Signs, { kind, pos, to: end, size, rgba }: Marker, dx: number, dy: number): void {
  from.set(pos[0]! + dx, pos[1]! + dy, pos[2]!);
  if (kind === "arrow" && end !== undefined) signs.arrow(from, to.set(end[0]! + dx, end[1]! + dy, end[2]!), size, rgba);
  else if (kind === "ring") signs.ring(from, size, rgba);
  else signs.sphere(from, size, rgba);
}
