/** One camera with four minds: it follows the robot in focus, circles a fixed place, flies freely, or looks through a camera of the model. */

import { MathUtils, Matrix4, PerspectiveCamera, Quaternion, Vector3 } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

export type CameraMode = "follow" | "orbit" | "free" | "model";

/** Share of the way to the followed robot that is left after a second. */
const LAG = 0.002;
const KEYS: Record<string, [forward: number, right: number, up: number]> = {
  KeyW: [1, 0, 0],
  KeyS: [-1, 0, 0],
  KeyA: [0, -1, 0],
  KeyD: [0, 1, 0],
  KeyE: [0, 0, 1],
  KeyQ: [0, 0, -1],
};

export class CameraRig {
  readonly camera = new PerspectiveCamera(38, 1, 0.01, 500);
  readonly controls: OrbitControls;
  private current: CameraMode = "follow";
  private readonly held = new Set<string>();
  private readonly step = new Vector3();
  private readonly goal = new Vector3();
  private last = 0;

  constructor(canvas: HTMLCanvasElement, changed: () => void) {
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.maxPolarAngle = Math.PI * 0.495; // never under the floor
    this.controls.minDistance = 0.05;
    this.controls.maxDistance = 200;
    this.controls.addEventListener("change", changed);
    canvas.addEventListener("keydown", (event) => {
      if (!(event.code in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
      this.held.add(event.code);
      changed();
    });
    canvas.addEventListener("keyup", (event) => this.held.delete(event.code));
    canvas.addEventListener("blur", () => this.held.clear());
  }

  get mode(): CameraMode {
    return this.current;
  }

  set mode(mode: CameraMode) {
    if (this.current === "model" && mode !== "model") this.camera.fov = 38;
    this.current = mode;
    this.controls.enabled = mode !== "model";
    this.camera.updateProjectionMatrix();
  }

  get distance(): number {
    return this.current === "model" ? 3 : this.camera.position.distanceTo(this.controls.target);
  }

  /**
   * Looks at a place from a direction, from so far that a box around it fills a share of the picture. With `level`, what
   * is looked at moves on the floor until the box is in the middle: of a wide one, the near side looks larger.
   */
  frame(centre: Vector3, from: Vector3, box: Vector3, fill: number, level: boolean): void {
    const { camera, goal } = this;
    const { target } = this.controls;
    const away = from.clone().normalize();
    const flat = Math.hypot(away.x, away.y, 1e-9);
    const tall = Math.tan(MathUtils.degToRad(camera.fov / 2)) * fill;
    target.copy(centre);
    let distance = 2 * box.length();
    for (let pass = 0; pass < 12; pass++) {
      camera.position.copy(away).multiplyScalar(distance).add(target);
      camera.lookAt(target);
      camera.updateMatrixWorld();
      let lacking = -Infinity, left = Infinity, right = -Infinity, low = Infinity, high = -Infinity;
      for (let corner = 0; corner < 8; corner++) {
        goal.set(corner & 1 ? box.x : -box.x, corner & 2 ? box.y : -box.y, corner & 4 ? box.z : -box.z).add(centre);
        goal.applyMatrix4(camera.matrixWorldInverse);
        const ahead = Math.max(-goal.z, 0.01 * distance);
        lacking = Math.max(lacking, Math.abs(goal.y) / tall - ahead, Math.abs(goal.x) / (tall * camera.aspect) - ahead);
        left = Math.min(left, goal.x / ahead);
        right = Math.max(right, goal.x / ahead);
        low = Math.min(low, goal.y / ahead);
        high = Math.max(high, goal.y / ahead);
      }
      if (level) {
        const aside = ((left + right) / 2) * distance * 0.7, up = (((low + high) / 2) * distance * 0.7) / Math.max(0.3, away.z);
        target.x += (-away.y * aside - away.x * up) / flat;
        target.y += (away.x * aside - away.y * up) / flat;
      }
      distance += lacking; // the farthest corner comes to the edge
    }
    camera.position.copy(away).multiplyScalar(distance).add(target);
    this.controls.update();
  }

  /** Moves what is looked at, and the camera with it, to the robot in focus. */
  carry(centre: Vector3): void {
    this.step.subVectors(centre, this.controls.target);
    this.controls.target.add(this.step);
    this.camera.position.add(this.step);
  }

  /** One picture's worth of motion; true while there is more to come. */
  advance(now: number, focus: Vector3 | null): boolean {
    const seconds = Math.min(0.1, (now - this.last) / 1000);
    this.last = now;
    let moving = false;
    if (this.current === "follow" && focus !== null) {
      this.goal.copy(this.controls.target).lerp(focus, 1 - LAG ** seconds);
      this.goal.z = MathUtils.lerp(this.controls.target.z, focus.z, 1 - (LAG ** 0.4) ** seconds); // steps and hops shake nobody
      moving = this.goal.distanceTo(focus) > 0.002 * this.distance;
      this.carry(this.goal);
    }
    if (this.held.size > 0 && this.current !== "model") {
      this.fly(seconds * this.distance);
      moving = true;
    }
    if (this.current !== "model") moving = this.controls.update() || moving;
    this.camera.near = this.distance / 200;
    this.camera.far = this.distance * 60;
    this.camera.updateProjectionMatrix();
    return moving;
  }

  /** Where a camera of the model is, given its body's place on the stage. */
  through(body: Matrix4, pos: readonly number[], [w, x, y, z]: readonly [number, number, number, number], fovy: number): void {
    const own = new Matrix4().compose(new Vector3(pos[0], pos[1], pos[2]), new Quaternion(x, y, z, w), new Vector3(1, 1, 1));
    body.clone().multiply(own).decompose(this.camera.position, this.camera.quaternion, this.step);
    this.camera.fov = fovy;
  }

  private fly(far: number): void {
    const forward = this.goal.subVectors(this.controls.target, this.camera.position).setZ(0).normalize();
    this.step.set(0, 0, 0);
    for (const key of this.held) {
      const [ahead, right, up] = KEYS[key]!;
      this.step.addScaledVector(forward, ahead);
      this.step.x += forward.y * right;
      this.step.y -= forward.x * right;
      this.step.z += up;
    }
    this.step.multiplyScalar(far);
    this.controls.target.add(this.step);
    this.camera.position.add(this.step);
  }

  dispose(): void {
    this.controls.dispose();
  }
}
