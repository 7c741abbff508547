/** What tests and curious people may read as `window.__paddock.scene`: numbers that show whether the picture lives. */

import type { WebGLRenderer } from "three";

import type { CameraMode } from "./camera_rig";
import type { Crowd } from "./crowd";

export interface Counters {
  /** Pictures drawn. */
  draws: number;
  /** Frames received. */
  frames: number;
  /** Draw calls and triangles of the last picture. */
  readonly calls: number;
  readonly triangles: number;
  /** Instances of bodies. */
  readonly instances: number;
  /** Worlds shown. */
  readonly worlds: number[];
  /** A sum over the last qpos that changes with any of them. */
  readonly checksum: number;
  readonly level: string;
  readonly mode: CameraMode;
  /** Sent by the page to a play, by kind. */
  told: Record<string, number>;
  /** Of the robot in focus, on the stage. */
  readonly focus: number[];
}

declare global {
  interface Window {
    __paddock?: { scene?: Counters };
  }
}

/** Counters that read the view only when they are asked. */
export function counters(renderer: WebGLRenderer, view: { crowd: Crowd | null; level: string; mode: CameraMode; focus: number[] }): Counters {
  return {
    draws: 0,
    frames: 0,
    told: {},
    get calls() {
      return renderer.info.render.calls;
    },
    get triangles() {
      return renderer.info.render.triangles;
    },
    get instances() {
      return view.crowd?.swarm.instances ?? 0;
    },
    get worlds() {
      return [...(view.crowd?.motion.worlds ?? [])];
    },
    get checksum() {
      return view.crowd?.motion.latest.reduce((sum, value, i) => sum + value * (1 + (i % 97)), 0) ?? 0;
    },
    get level() {
      return view.level;
    },
    get mode() {
      return view.mode;
    },
    get focus() {
      return view.focus;
    },
  };
}
