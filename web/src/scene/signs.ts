/** Arrows, rings and balls on the stage: contact forces, goals, commands, the pull of a drag. Pooled: nothing is made per frame. */

import {
  BufferGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  Group,
  Mesh,
  MeshLambertMaterial,
  Quaternion,
  SphereGeometry,
  SRGBColorSpace,
  TorusGeometry,
  Vector3,
} from "three";
import { mergeGeometries } from "three/addons/utils/BufferGeometryUtils.js";

type Sign = Mesh<BufferGeometry, MeshLambertMaterial>;

const UP = new Vector3(0, 0, 1);
const along = new Vector3();
const turn = new Quaternion();

/** Length 1 along z, its shaft's radius 1 so that width and length scale apart; the head takes the last fifth. */
function arrowShape(): BufferGeometry {
  const shaft = new CylinderGeometry(0.45, 0.45, 0.72, 14).rotateX(Math.PI / 2).translate(0, 0, 0.36);
  const head = new ConeGeometry(1, 0.3, 18).rotateX(Math.PI / 2).translate(0, 0, 0.85);
  return mergeGeometries([shaft, head]);
}

export class Signs {
  readonly group = new Group();
  private readonly shapes = { arrow: arrowShape(), sphere: new SphereGeometry(1, 20, 12), ring: new TorusGeometry(1, 0.03, 6, 48) };
  private readonly used: Record<keyof Signs["shapes"], number> = { arrow: 0, sphere: 0, ring: 0 };
  private readonly pool: Record<keyof Signs["shapes"], Sign[]> = { arrow: [], sphere: [], ring: [] };
  private readonly colour = new Color();

  /** Forgets all signs; those set again until `end` are shown. */
  begin(): void {
    this.used.arrow = this.used.sphere = this.used.ring = 0;
  }

  arrow(from: Vector3, to: Vector3, width: number, rgba: readonly number[]): void {
    along.subVectors(to, from);
    const length = along.length();
    if (length < 1e-6) return;
    const sign = this.take("arrow", rgba);
    sign.position.copy(from);
    sign.quaternion.copy(turn.setFromUnitVectors(UP, along.divideScalar(length)));
    sign.scale.set(width, width, length);
  }

  sphere(at: Vector3, radius: number, rgba: readonly number[]): void {
    const sign = this.take("sphere", rgba);
    sign.position.copy(at);
    sign.scale.setScalar(radius);
  }

  ring(at: Vector3, radius: number, rgba: readonly number[]): void {
    const sign = this.take("ring", rgba);
    sign.position.copy(at);
    sign.scale.setScalar(radius);
  }

  end(): void {
    for (const kind of ["arrow", "sphere", "ring"] as const) {
      this.pool[kind].forEach((sign, i) => (sign.visible = i < this.used[kind]));
    }
  }

  private take(kind: keyof Signs["shapes"], [red = 1, green = 0.5, blue = 0.1, alpha = 1]: readonly number[]): Sign {
    const pool = this.pool[kind];
    const at = this.used[kind]++;
    if (at === pool.length) {
      const sign = new Mesh(this.shapes[kind], new MeshLambertMaterial());
      sign.raycast = () => undefined; // never in the way of a click
      pool.push(sign);
      this.group.add(sign);
    }
    const sign = pool[at]!;
    this.colour.setRGB(red, green, blue, SRGBColorSpace);
    sign.material.color.copy(this.colour);
    sign.material.emissive.copy(this.colour).multiplyScalar(0.45);
    sign.material.transparent = alpha < 1;
    sign.material.opacity = alpha;
    return sign;
  }

  dispose(): void {
    for (const shape of Object.values(this.shapes)) shape.dispose();
    for (const sign of Object.values(this.pool).flat()) sign.material.dispose();
  }
}
