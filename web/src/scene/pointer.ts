/** What a pointer does on the picture: a click picks a robot; where bodies may be pulled, a press on one holds it like a spring. */

import { Vector2, Vector3 } from "three";

import { facing, pointerAt, type Hit } from "./picking";
import type { Viewer } from "./viewer";

export interface PointerEvents {
  /** Whether bodies may be pulled. */
  grabs: () => boolean;
  pick: (hit: Hit) => void;
  /** A held body and where it is pulled to, on the stage; at most once per picture. */
  pull: (hit: Hit, target: Vector3) => void;
  release: () => void;
}

/** A press that moves less than this is a click, CSS pixels. */
const STILL = 4;

export class PointerTools {
  private held: Hit | null = null;
  private downAt: [number, number] | null = null;
  private readonly pointer = new Vector2();
  private readonly target = new Vector3();
  private due = 0;
  private readonly stop = new AbortController();

  constructor(
    private readonly viewer: Viewer,
    private readonly canvas: HTMLCanvasElement,
    private readonly on: PointerEvents,
  ) {
    const { signal } = this.stop;
    canvas.addEventListener("pointerdown", (event) => this.down(event), { signal, capture: true }); // before the camera hears of it
    canvas.addEventListener("pointermove", (event) => this.move(event), { signal });
    canvas.addEventListener("pointerup", (event) => this.up(event), { signal });
    canvas.addEventListener("pointercancel", () => this.let(), { signal });
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.downAt = [event.clientX, event.clientY];
    this.canvas.focus({ preventScroll: true, focusVisible: false } as FocusOptions); // no ring for a click
    if (!this.on.grabs()) return;
    const hit = this.viewer.hit(event);
    if (hit === null) return;
    event.stopImmediatePropagation();
    this.canvas.setPointerCapture(event.pointerId);
    this.held = hit;
    this.target.copy(hit.point);
    this.viewer.drag = { slot: hit.slot, body: hit.body, local: hit.local, target: this.target };
    this.viewer.invalidate();
  }

  private move(event: PointerEvent): void {
    if (this.held === null) return;
    facing(this.viewer.rig.camera, pointerAt(event, this.canvas, this.pointer), this.held.point, this.target);
    this.viewer.invalidate();
    this.due ||= requestAnimationFrame(() => {
      this.due = 0;
      if (this.held !== null) this.on.pull(this.held, this.target);
    });
  }

  private up(event: PointerEvent): void {
    const { held, downAt } = this;
    this.let();
    const moved = downAt === null ? Infinity : Math.hypot(event.clientX - downAt[0], event.clientY - downAt[1]);
    this.downAt = null;
    if (moved > STILL) return;
    const hit = held ?? this.viewer.hit(event);
    if (hit !== null) this.on.pick(hit);
  }

  private let(): void {
    if (this.held === null) return;
    this.held = this.viewer.drag = null;
    this.viewer.invalidate();
    this.on.release();
  }

  dispose(): void {
    this.stop.abort();
    cancelAnimationFrame(this.due);
  }
}
