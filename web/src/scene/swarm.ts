/** Robots of one model, drawn together: one instanced mesh per moving body, and one for all that never moves. */

import { DynamicDrawUsage, Group, InstancedBufferAttribute, InstancedMesh, Matrix4, type BufferGeometry, type Material } from "three";

import { bodyShape, isVisible } from "./body_shapes";
import { isGround } from "./extent";
import { Kinematics, POSE } from "./kinematics";
import { matrixOfPose, type Numbers } from "./quaternion";
import { fixedBodies, type SceneModel } from "./scene_model";
import type { Detail } from "./shapes";
import { TINT } from "./surface";

interface Part {
  /** Its row among the poses; -1 for what stands still. */
  body: number;
  mesh: InstancedMesh;
  tint: InstancedBufferAttribute;
}

export interface SwarmOptions {
  detail: Detail;
  /** How many robots. */
  count: number;
  /** Draw what stands still once, not once per robot. */
  shareGround: boolean;
  /** Draw geoms that only collide as well. */
  collision: boolean;
  /** Size of a robot, m. */
  radius: number;
  materials: { solid: Material; clear: Material };
}

export class Swarm {
  readonly group = new Group();
  readonly count: number;
  private readonly parts: Part[] = [];
  private readonly shareGround: boolean;
  private readonly materials: SwarmOptions["materials"];

  constructor(model: SceneModel, options: SwarmOptions) {
    this.count = options.count;
    this.shareGround = options.shareGround;
    this.materials = options.materials;
    const { json } = model;
    const fixed = fixedBodies(json);
    const rest = new Kinematics(json).pose(new Float64Array(json.home), 0);
    const seen = json.geoms.filter((geom) => isVisible(geom, options.collision) && !isGround(geom, fixed));
    const add = (body: number, shape: ReturnType<typeof bodyShape>) => {
      if (shape.solid !== null) this.add(body, shape.solid, false);
      if (shape.clear !== null) this.add(body, shape.clear, true);
    };
    json.bodies.forEach((_, body) => {
      if (fixed[body]) {
        const frame = new Matrix4().fromArray(matrixOf(rest, body));
        add(-1, bodyShape(seen.filter((geom) => geom.body === body), model, options.detail, options.radius, frame));
      } else {
        add(body, bodyShape(seen.filter((geom) => geom.body === body), model, options.detail, options.radius));
      }
    });
  }

  private add(body: number, shape: BufferGeometry, transparent: boolean): void {
    const count = body < 0 && this.shareGround ? 1 : this.count;
    const tint = new InstancedBufferAttribute(new Float32Array(count * 4), 4);
    shape.setAttribute(TINT, tint);
    const mesh = new InstancedMesh(shape, transparent ? this.materials.clear : this.materials.solid, count);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.frustumCulled = false; // its robots are anywhere
    mesh.castShadow = !transparent;
    mesh.receiveShadow = true;
    this.parts.push({ body, mesh, tint });
    this.group.add(mesh);
  }

  /** Puts one robot where its poses say, moved by an offset in the plane. */
  place(slot: number, poses: Numbers, dx: number, dy: number): void {
    for (const { body, mesh } of this.parts) {
      if (body >= 0) matrixOfPose(mesh.instanceMatrix.array as Float32Array, slot * 16, poses, body * POSE, dx, dy);
    }
  }

  /** Puts what stands still where the layout has each world. */
  placeGround(offsets: Float32Array): void {
    for (const { body, mesh } of this.parts) {
      if (body >= 0) continue;
      const matrices = mesh.instanceMatrix.array as Float32Array;
      for (let slot = 0; slot < mesh.count; slot++) {
        matrices.set(IDENTITY, slot * 16);
        matrices[slot * 16 + 12] = this.shareGround ? 0 : offsets[slot * 2]!;
        matrices[slot * 16 + 13] = this.shareGround ? 0 : offsets[slot * 2 + 1]!;
      }
      mesh.instanceMatrix.needsUpdate = true;
    }
  }

  /** Hands the placed robots to the graphics card. */
  commit(): void {
    for (const { body, mesh } of this.parts) {
      if (body >= 0) mesh.instanceMatrix.needsUpdate = true;
    }
  }

  /** Colours a robot, or one of its bodies: rgb (linear) and how much of it. */
  tint(slot: number, body: number | null, red: number, green: number, blue: number, share: number): void {
    for (const part of this.parts) {
      if (part.body < 0 || (body !== null && part.body !== body)) continue;
      part.tint.setXYZW(slot, red, green, blue, share);
      part.tint.needsUpdate = true;
    }
  }

  /** Which body a mesh draws; -1 for what stands still, null for a stranger. */
  bodyOf(mesh: object): number | null {
    return this.parts.find((part) => part.mesh === mesh)?.body ?? null;
  }

  /** Where a body of a robot is on the screen's stage, layout included. */
  matrixOf(slot: number, body: number, out: Matrix4): boolean {
    const part = this.parts.find((candidate) => candidate.body === body);
    part?.mesh.getMatrixAt(slot, out);
    return part !== undefined;
  }

  get meshes(): InstancedMesh[] {
    return this.parts.map((part) => part.mesh);
  }

  get instances(): number {
    return this.parts.reduce((sum, { mesh }) => sum + mesh.count, 0);
  }

  dispose(): void {
    for (const { mesh } of this.parts) {
      mesh.geometry.dispose();
      mesh.dispose();
    }
  }
}

const IDENTITY = new Matrix4().toArray();

function matrixOf(poses: Numbers, body: number): Float32Array {
  const matrix = new Float32Array(16);
  matrixOfPose(matrix, 0, poses, body * POSE, 0, 0);
  return matrix;
}
