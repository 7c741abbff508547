/** The 3D view of a scene: give it a model once and frames as they come; it draws when something changed, and never else. */

import { Color, Matrix4, Scene, Vector3, WebGLRenderer } from "three";

import { CameraRig } from "./camera_rig";
import { counters, type Counters } from "./counters";
import { Crowd } from "./crowd";
import { Flashes } from "./flashes";
import { drawFocus, type Drag } from "./focus_signs";
import type { Frame } from "./frames";
import type { Gap, Layout } from "./layout";
import { Pace } from "./pace";
import { pick, pointerAt, type Hit } from "./picking";
import type { SceneModel } from "./scene_model";
import { Signs } from "./signs";
import { DARK, LIGHT, Stage } from "./stage";

/** Share of the picture that one robot fills. */
const FILL_ALONE = 0.66;

export class Viewer {
  readonly rig: CameraRig;
  readonly pace = new Pace();
  readonly counters: Counters;
  crowd: Crowd | null = null;
  frame: Frame | null = null;
  drag: Drag | null = null;
  /** Called with a frame once it is on the screen. */
  ondrawn: (frame: Frame) => void = () => undefined;
  /** Called where more or less is drawn from now on. */
  onlevel: (name: string) => void = () => undefined;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly stage = new Stage();
  private readonly signs = new Signs();
  private readonly flashes = new Flashes();
  private readonly watcher: ResizeObserver;
  private readonly focusAt = new Vector3();
  private readonly matrix = new Matrix4();
  private accent = new Color(1, 0.45, 0.1);
  private contacts = true;
  private undrawn: Frame | null = null;
  private lens: string | null = null;
  private asked = 0;
  private flowing = false;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, powerPreference: "high-performance" });
    this.renderer.shadowMap.enabled = true;
    this.rig = new CameraRig(canvas, () => this.invalidate());
    this.scene.add(this.stage.group, this.signs.group);
    const view = this;
    this.counters = counters(this.renderer, {
      get crowd() {
        return view.crowd;
      },
      get level() {
        return view.pace.now.name;
      },
      get mode() {
        return view.rig.mode;
      },
      get focus() {
        return view.focusAt.toArray();
      },
    });
    (window.__paddock ??= {}).scene = this.counters;
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(canvas);
    canvas.addEventListener("webglcontextrestored", () => this.invalidate());
  }

  load(model: SceneModel): void {
    this.unload();
    this.crowd = new Crowd(model, this.stage.terrainMaterial);
    this.crowd.coarsen(this.pace.now.coarse);
    this.scene.add(this.crowd.group);
    const { extent, rim } = this.crowd;
    this.stage.ground(extent.radius > 3 ? 2 : extent.radius > 0.25 ? 0.5 : 0.25, rim?.height ?? extent.floor ?? 0, rim?.rectangle ?? null);
    this.overview();
  }

  theme(dark: boolean, accent: string): void {
    this.stage.paint(dark ? DARK : LIGHT);
    this.accent.set(accent);
    this.invalidate();
  }

  /** Takes a frame; it is drawn with the next picture. */
  show(frame: Frame, now = performance.now()): void {
    const { crowd } = this;
    if (crowd === null) return;
    const before = this.frame;
    const others = crowd.receive(frame, now);
    this.counters.frames++;
    this.frame = this.undrawn = frame;
    if (others) this.pace.forgive();
    if (others && crowd.rim !== null) this.follow();
    else if (others) this.overview();
    else if (before !== null) this.flashes.compare(before, frame, now);
    this.invalidate();
  }

  /** Places the camera so that all worlds, or the only robot, are seen well. */
  overview(): void {
    const { crowd } = this;
    if (crowd === null) return;
    const many = crowd.swarm.count > 1;
    const { centre, box } = crowd.spread();
    this.lens = null;
    this.rig.frame(centre, many ? crowd.extent.fromAfar : crowd.extent.from, box, many ? 0.88 : FILL_ALONE, many);
    this.rig.mode = many ? "orbit" : "follow";
    this.invalidate();
  }

  /** Flies to the robot in focus and stays with it. */
  follow(): void {
    const { crowd } = this;
    if (crowd === null) return;
    const from = this.rig.camera.position.clone().sub(this.rig.controls.target);
    if (this.rig.mode === "model") from.copy(crowd.extent.from);
    this.rig.mode = "follow";
    this.rig.frame(crowd.middleOf(this.focusSlot, this.focusAt), from, crowd.extent.box, FILL_ALONE, false);
    this.invalidate();
  }

  /** Another mind for the camera; it stays where it is, unless it sat on a robot. */
  steer(mode: "follow" | "orbit" | "free"): void {
    this.lens = null;
    if (mode === "follow") return this.follow();
    if (this.rig.mode === "model") this.overview();
    this.rig.mode = mode;
    this.invalidate();
  }

  /** Looks through a camera of the model, mounted on the robot in focus. */
  lookThrough(name: string): void {
    this.lens = name;
    this.rig.mode = "model";
    this.invalidate();
  }

  lay(layout: Layout, gap: Gap): void {
    this.crowd?.lay(layout, gap);
    this.overview();
  }

  /** Switches what is drawn beside the robots' looks. */
  draw3d({ contacts = this.contacts, collision }: { contacts?: boolean; collision?: boolean }): void {
    this.contacts = contacts;
    if (collision !== undefined && this.crowd !== null) this.crowd.collisionShown = collision;
    this.invalidate();
  }

  /** A place on the stage as the world of a slot has it. */
  toWorld(slot: number, x: number, y: number, z: number): [number, number, number] {
    const offsets = this.crowd?.offsets;
    return [x - (offsets?.[2 * slot] ?? 0), y - (offsets?.[2 * slot + 1] ?? 0), z];
  }

  get focusSlot(): number {
    return Math.max(0, this.crowd?.slotOf(this.frame?.tail.world ?? 0) ?? 0);
  }

  hit(event: { clientX: number; clientY: number }): Hit | null {
    return this.crowd === null ? null : pick(this.crowd.swarm, this.rig.camera, pointerAt(event, this.canvas));
  }

  invalidate(): void {
    this.asked ||= requestAnimationFrame((now) => this.draw(now));
  }

  private draw(now: number): void {
    this.asked = 0;
    const { crowd, rig } = this;
    if (crowd === null || this.canvas.clientWidth === 0) return;
    let more = crowd.move(now, this.pace.now.smooth);
    crowd.middleOf(this.focusSlot, this.focusAt);
    more = rig.advance(now, this.focusAt) || more;
    more = this.flashes.show(crowd.swarm, now) || more;
    if (this.lens !== null) this.mount(this.lens);
    this.signs.begin();
    drawFocus(this.signs, crowd, this.focusSlot, this.frame?.tail ?? null, { contacts: this.contacts, drag: this.drag, accent: this.accent });
    this.signs.end();
    this.stage.attend(rig.camera.position, rig.mode === "model" ? this.focusAt : rig.controls.target, rig.distance);
    this.renderer.render(this.scene, rig.camera);
    this.counters.draws++;
    if (this.pace.drawn(now, this.flowing)) this.relevel();
    this.flowing = more;
    const drawn = this.undrawn;
    this.undrawn = null;
    if (drawn !== null) this.ondrawn(drawn);
    if (more) this.invalidate();
  }

  private mount(name: string): void {
    const lens = this.crowd!.model.json.cameras.find((camera) => camera.name === name);
    if (lens === undefined) return;
    this.rig.through(this.crowd!.poseOf(this.focusSlot, lens.body, this.matrix), lens.pos, lens.quat, lens.fovy);
  }

  /** Draws as a level of the pace says, or by itself again. */
  level(name: string | null): void {
    this.pace.pin(name);
    this.relevel();
  }

  private relevel(): void {
    this.stage.shadows(this.pace.now.shadow);
    this.crowd?.coarsen(this.pace.now.coarse);
    this.resize();
    this.onlevel(this.pace.now.name);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, this.pace.now.pixels));
    this.renderer.setSize(width, height, false);
    const first = this.counters.draws === 0;
    this.rig.camera.aspect = width / height;
    this.rig.camera.updateProjectionMatrix();
    if (first) this.overview();
    this.invalidate();
  }

  private unload(): void {
    if (this.crowd === null) return;
    this.scene.remove(this.crowd.group);
    this.crowd.dispose();
    this.crowd = this.frame = this.undrawn = null;
  }

  dispose(): void {
    cancelAnimationFrame(this.asked);
    this.asked = -1; // whoever still calls asks for nothing
    this.watcher.disconnect();
    this.unload();
    this.rig.dispose();
    this.stage.dispose();
    this.signs.dispose();
    this.renderer.dispose();
    this.renderer.forceContextLoss(); // a browser keeps but a few
    if (window.__paddock?.scene === this.counters) delete window.__paddock.scene;
  }
}
