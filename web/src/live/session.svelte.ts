// One view of a run or a play: the scene, the socket, the picture, and the few words about it that change slowly.

import type { FrameTail, PlayPush, RefusedPush, WatchingPush } from "../generated/messages";
import type { Frame } from "../scene/frames";
import { fixedBodies, readScene } from "../scene/scene_model";
import { type ViewAsk, ViewLane } from "../scene/stream";
import { Viewer } from "../scene/viewer";
import { recall } from "../state/memory";
import { api, urlOf } from "../wire/api";
import { FocusHistory } from "./history";

export type Doing = "loading" | "connecting" | "waiting" | "running" | "paused" | "over" | "lost" | "failed";

/** What the corner of the picture says, a few times a second. */
export interface Hud {
  envSteps: number;
  stepsPerS: number;
  age: number;
  total: number | null;
  speed: number | null;
  /** Frames per second that arrive. */
  rate: number;
  dropped: number;
  /** From a frame's arrival to the screen, ms. */
  delay: number;
  world: number;
  success: boolean | null;
}

export interface Ending {
  id: number;
  world: number;
  cause: string;
  success: boolean;
  total: number | null;
  seconds: number;
}

const HUD_MS = 200;
const ENDING_MS = 4000;
const REFUSED_MS = 6000;

export class ViewSession {
  doing = $state<Doing>("loading");
  /** Why it failed or is over. */
  reason = $state("");
  /** null until the first frame. */
  hud = $state.raw<Hud | null>(null);
  endings = $state.raw<Ending[]>([]);
  level = $state("full");
  play = $state.raw<PlayPush | null>(null);
  refused = $state.raw<RefusedPush | null>(null);
  /** What the model has and the picture cannot show. */
  missing = $state.raw<readonly string[]>([]);
  /** Those that move, and so can be pushed. */
  bodies = $state.raw<readonly { body: number; name: string }[]>([]);
  lenses = $state.raw<readonly string[]>([]);
  readonly history = new FocusHistory();
  viewer: Viewer | null = null;
  private readonly lane: ViewLane;
  private readonly listeners = new Set<(frame: Frame) => void>();
  private wanted: ViewAsk | null = null;
  private controlDt = 0.02;
  private hudDue = 0;
  private arrived = 0;
  /** Typical time between two frames, ms. */
  private between = 1000 / 30;
  private nextEnding = 1;
  private before: { age: number; total: number | null } = { age: 0, total: null };
  private closed = false;

  constructor(private readonly run: string) {
    this.lane = new ViewLane(urlOf("live").replace(/^http/, "ws"), {
      frame: (frame) => this.received(frame),
      watching: (push) => this.watching(push),
      play: (push) => (this.play = push),
      refused: (push) => this.refuse(push),
      trouble: (push) => this.fail(push.error),
      connected: (live) => (this.doing = live ? (this.doing === "lost" ? "connecting" : this.doing) : this.doing === "failed" ? "failed" : "lost"),
    });
  }

  /** Loads the scene and draws it as the model has it; what was asked for meanwhile is asked now. */
  async start(canvas: HTMLCanvasElement): Promise<void> {
    try {
      const viewer = pictureOn(canvas);
      viewer.ondrawn = (frame) => this.drawn(frame);
      viewer.onlevel = (name) => (this.level = name);
      const [scene, numbers] = await Promise.all([api.scene(this.run), api.sceneNumbers(this.run)]);
      if (this.closed) return viewer.dispose();
      viewer.load(readScene(scene, numbers));
      viewer.level(recall<string | null>("live.drawing", null));
      this.viewer = viewer;
      this.controlDt = scene.control_dt;
      this.missing = scene.missing;
      const fixed = fixedBodies(scene);
      const named = scene.bodies.map(({ name, mocap }, body) => ({ body, name: name || `body ${body}`, mocap }));
      this.bodies = named.filter(({ body, mocap }) => !fixed[body] && mocap < 0);
      this.lenses = scene.cameras.filter(({ name, mode }) => name && mode === "fixed").map(({ name }) => name);
      if (this.doing === "loading") this.doing = "connecting";
      if (this.wanted !== null) this.lane.show(this.wanted);
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  show(wanted: ViewAsk): void {
    this.wanted = wanted;
    if (this.viewer !== null) this.lane.show(wanted);
  }

  tell(what: Record<string, unknown>): void {
    if (this.wanted?.do !== "play") return;
    this.refused = null;
    this.lane.tell(this.wanted.play, what);
    const { told } = this.viewer!.counters;
    told[String(what["do"])] = (told[String(what["do"])] ?? 0) + 1;
  }

  /** Hear of each frame after it was drawn; returns how to stop. */
  onFrame(listener: (frame: Frame) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.closed = true;
    this.lane.close();
    this.viewer?.dispose();
  }

  private fail(why: string): void {
    this.doing = "failed";
    this.reason = why;
  }

  private refuse(push: RefusedPush): void {
    this.refused = push;
    window.setTimeout(() => (this.refused = this.refused === push ? null : this.refused), REFUSED_MS);
  }

  private watching(push: WatchingPush): void {
    this.doing = push.state;
    this.reason = push.reason;
  }

  private received(frame: Frame): void {
    const now = performance.now();
    if (this.arrived > 0) this.between += 0.15 * (Math.min(5000, now - this.arrived) - this.between);
    this.arrived = now;
    try {
      this.viewer!.show(frame, this.arrived);
    } catch (error) {
      return this.fail(error instanceof Error ? error.message : String(error));
    }
    const { tail } = frame;
    this.history.take(tail);
    this.doing = tail.paused ? "paused" : "running";
    if (tail.ended) this.ended(tail);
    this.before = { age: frame.ages[this.viewer!.focusSlot] ?? 0, total: tail.total ?? null };
  }

  private drawn(frame: Frame): void {
    const { rest } = this.viewer!.pace;
    if (rest > 0) window.setTimeout(() => this.lane.ack(frame), rest);
    else this.lane.ack(frame);
    for (const listener of this.listeners) listener(frame);
    const now = performance.now();
    if (now < this.hudDue) return;
    const { tail } = frame;
    const slot = this.viewer!.focusSlot;
    this.hud = {
      envSteps: frame.envSteps,
      stepsPerS: tail.steps_per_s,
      age: (frame.ages[slot] ?? 0) * this.controlDt,
      total: tail.total ?? null,
      speed: tail.speed ?? null,
      rate: 1000 / this.between,
      dropped: tail.dropped,
      delay: now - this.arrived,
      world: tail.world,
      success: tail.success ?? null,
    };
    this.hudDue = now + HUD_MS;
  }

  /** What the frame before knew of the episode, as this one is of the next. */
  private ended({ world, ended, success }: FrameTail): void {
    const { total, age } = this.before;
    const ending = { id: this.nextEnding++, world, cause: ended ?? "", success: success ?? false, total, seconds: age * this.controlDt };
    this.endings = [ending, ...this.endings].slice(0, 3);
    window.setTimeout(() => (this.endings = this.endings.filter(({ id }) => id !== ending.id)), ENDING_MS);
  }
}

function pictureOn(canvas: HTMLCanvasElement): Viewer {
  try {
    return new Viewer(canvas);
  } catch {
    throw new Error("This browser draws no WebGL, which the 3D view needs. Charts, episodes and everything else go on without it.");
  }
}
