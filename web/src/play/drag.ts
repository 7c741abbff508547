/** What a play is told of a pull: which body, where it is held, and where it is pulled to; a push by keys is a short pull. */

import { Matrix4, Vector3 } from "three";

import type { ViewSession } from "../live/session.svelte";
import type { Hit } from "../scene/picking";

/** How long a push by keys pulls, ms. */
const PUSH_MS = 400;

export type Place = [x: number, y: number, z: number];

export function pull(session: ViewSession, { slot, body, local }: Hit, target: Place): void {
  session.tell({ do: "drag", world: worldOf(session, slot), body, point: local.toArray(), target });
}

export function release(session: ViewSession): void {
  session.tell({ do: "release" });
}

/** Pulls a body by its origin a way in the world's directions, shows the arrow, and lets go. */
export function push(session: ViewSession, body: number, way: Place): void {
  const { viewer } = session;
  if (viewer?.crowd == null) return;
  const slot = viewer.focusSlot;
  const from = new Vector3().setFromMatrixPosition(viewer.crowd.poseOf(slot, body, new Matrix4()));
  const target = from.clone().add(new Vector3(...way));
  const drag = { slot, body, local: new Vector3(), target };
  viewer.drag = drag;
  viewer.invalidate();
  pull(session, { ...drag, point: from }, viewer.toWorld(slot, target.x, target.y, target.z));
  window.setTimeout(() => {
    if (viewer.drag !== drag) return; // the pointer took over
    viewer.drag = null;
    viewer.invalidate();
    release(session);
  }, PUSH_MS);
}

function worldOf({ viewer }: ViewSession, slot: number): number {
  return viewer?.crowd?.motion.worlds[slot] ?? 0;
}
