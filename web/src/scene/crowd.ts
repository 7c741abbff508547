/** The robots of a scene and where they are: takes frames, blends between them, computes kinematics, lays worlds out. */

import { Group, Matrix4, Mesh, Vector3, type Material } from "three";

import { placeOf } from "./body_shapes";
import { extentOf, isGround, type Extent } from "./extent";
import type { Frame } from "./frames";
import { Kinematics, POSE } from "./kinematics";
import { offsetsOf, type Gap, type Layout } from "./layout";
import { Motion } from "./motion";
import { matrixOfPose } from "./quaternion";
import { fixedBodies, type SceneModel } from "./scene_model";
import { detailFor, heightsShape } from "./shapes";
import { surfaceMaterial } from "./surface";
import { Swarm } from "./swarm";

export class Crowd {
  readonly group = new Group();
  readonly extent: Extent;
  readonly motion: Motion;
  /** Where uneven ground lies, and how high it is where it ends; null where the floor is flat. All worlds share it. */
  readonly rim: { height: number; rectangle: [number, number, number, number] } | null;
  swarm: Swarm;
  /** x and y of each world on the stage. */
  offsets: Float32Array = new Float32Array(2);
  private readonly kinematics: Kinematics;
  private readonly ground = new Group();
  private readonly materials = { solid: surfaceMaterial(false), clear: surfaceMaterial(true) };
  private mocap = new Float64Array(0);
  private focusSlot = 0;
  private layout: Layout;
  private gap: Gap;
  private collision = false;
  private coarseness = 1;

  constructor(
    readonly model: SceneModel,
    private readonly floor: Material,
  ) {
    const { json } = model;
    this.extent = extentOf(model);
    this.kinematics = new Kinematics(json);
    this.motion = new Motion(json);
    this.rim = rimOf(model);
    this.layout = this.rim !== null || this.extent.roams ? "overlay" : "grid";
    this.gap = this.extent.gap;
    const fixed = fixedBodies(json);
    for (const geom of json.geoms) {
      if (geom.kind === "hfield" && isGround(geom, fixed)) this.ground.add(this.field(geom));
    }
    this.group.add(this.ground);
    this.swarm = this.populate(1);
    this.motion.receive(homeFrame(json.home), 0);
    this.move(Infinity, false);
  }

  private field(geom: SceneModel["json"]["geoms"][number]): Mesh {
    const field = new Mesh(heightsShape(this.model.heights[geom.height]!), this.floor);
    field.applyMatrix4(placeOf(geom));
    field.receiveShadow = true;
    return field;
  }

  private populate(count: number): Swarm {
    if (this.swarm !== undefined) {
      this.group.remove(this.swarm.group);
      this.swarm.dispose();
    }
    const { extent, collision } = this;
    this.swarm = new Swarm(this.model, {
      detail: detailFor(count * this.coarseness),
      count,
      shareGround: this.layout === "overlay",
      collision,
      radius: extent.radius,
      materials: this.materials,
    });
    this.group.add(this.swarm.group);
    this.arrange();
    return this.swarm;
  }

  private arrange(): void {
    this.offsets = offsetsOf(this.swarm.count, this.layout, this.gap);
    this.swarm.placeGround(this.offsets);
  }

  /** How worlds stand: side by side with a distance, or in the same place. */
  lay(layout: Layout, gap: Gap): void {
    const rebuild = layout !== this.layout;
    this.layout = layout;
    this.gap = gap;
    if (rebuild) this.populate(this.swarm.count);
    else this.arrange();
    this.place();
  }

  get spacing(): Gap {
    return this.gap;
  }

  get arrangement(): Layout {
    return this.layout;
  }

  /** Middle and half sides of a box around all robots as they are now. */
  spread(): { centre: Vector3; box: Vector3 } {
    const low = new Vector3(Infinity, Infinity, Infinity), high = new Vector3(-Infinity, -Infinity, -Infinity), at = new Vector3();
    for (let slot = 0; slot < this.swarm.count; slot++) {
      this.middleOf(slot, at);
      low.min(at);
      high.max(at);
    }
    return { centre: low.clone().add(high).multiplyScalar(0.5), box: high.sub(low).multiplyScalar(0.5).add(this.extent.box) };
  }

  /** Draws shapes as if there were this many times as many robots. */
  coarsen(times: number): void {
    if (times === this.coarseness) return;
    this.coarseness = times;
    this.populate(this.swarm.count);
    this.place();
  }

  set collisionShown(shown: boolean) {
    this.collision = shown;
    this.populate(this.swarm.count);
    this.place();
  }

  /** Takes a frame; true where it shows other worlds than before. */
  receive(frame: Frame, now: number): boolean {
    if (frame.nq !== this.model.json.nq) {
      throw new Error(`This frame has ${frame.nq} numbers per world, the scene ${this.model.json.nq}: it belongs to another model.`);
    }
    const others = this.motion.receive(frame, now);
    if (frame.n !== this.swarm.count) this.populate(frame.n);
    this.focusSlot = Math.max(0, this.slotOf(frame.tail.world));
    const poses = frame.tail.mocap ?? [];
    if (this.mocap.length !== poses.length * POSE) this.mocap = new Float64Array(poses.length * POSE);
    poses.forEach(([pos, quat], i) => this.mocap.set([...pos, ...quat], i * POSE));
    return others;
  }

  slotOf(world: number): number {
    return this.motion.worlds.indexOf(world);
  }

  /** Moves robots to where they should be by now; true while there is more to come. */
  move(now: number, smooth: boolean): boolean {
    const more = this.motion.advance(now, smooth);
    this.place();
    return more;
  }

  private place(): void {
    const { qpos } = this.motion;
    const { nq } = this.model.json;
    for (let slot = 0; slot < this.swarm.count; slot++) {
      const poses = this.kinematics.pose(qpos, slot * nq, slot === this.focusSlot ? this.mocap : undefined);
      this.swarm.place(slot, poses, this.offsets[2 * slot]!, this.offsets[2 * slot + 1]!);
    }
    this.swarm.commit();
  }

  /** Where a body of a robot is on the stage. */
  poseOf(slot: number, body: number, out: Matrix4): Matrix4 {
    const { nq } = this.model.json;
    const poses = this.kinematics.pose(this.motion.qpos, slot * nq, slot === this.focusSlot ? this.mocap : undefined);
    matrixOfPose(elements, 0, poses, body * POSE, this.offsets[2 * slot]!, this.offsets[2 * slot + 1]!);
    return out.fromArray(elements);
  }

  /** The middle of a robot on the stage: as far from its root as at home. */
  middleOf(slot: number, out: Vector3): Vector3 {
    const { root, rootAt, centre } = this.extent;
    return out.setFromMatrixPosition(this.poseOf(slot, root, matrix)).add(centre).sub(rootAt);
  }

  dispose(): void {
    this.swarm.dispose();
    this.materials.solid.dispose();
    this.materials.clear.dispose();
    for (const field of this.ground.children) (field as Mesh).geometry.dispose();
  }
}

const matrix = new Matrix4();
const elements = new Float32Array(16);

function rimOf({ json, heights }: SceneModel): Crowd["rim"] {
  const field = json.geoms.find(({ kind, body }) => kind === "hfield" && body === 0);
  if (field === undefined) return null;
  const { size, data } = heights[field.height]!;
  const [x, y, z] = field.pos;
  return { height: z + size[2] * data[0]!, rectangle: [x - size[0], y - size[1], x + size[0], y + size[1]] };
}

/** One world that stands as the model has it, to look at before the first step. */
function homeFrame(home: readonly number[]): Frame {
  return {
    stream: -1,
    seq: -1,
    envSteps: 0,
    n: 1,
    nq: home.length,
    ages: new Uint32Array(1),
    worlds: new Uint32Array(1),
    qpos: new Float32Array(home),
    tail: { dropped: 0, steps_per_s: 0, world: 0 },
  };
}
