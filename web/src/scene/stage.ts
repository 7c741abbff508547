/** What stands around the robots: an endless checkered floor that fades into the horizon, a sky, and lights that cast one shadow. */

import {
  BackSide,
  Color,
  DirectionalLight,
  Group,
  HemisphereLight,
  Mesh,
  MeshLambertMaterial,
  PlaneGeometry,
  ShaderMaterial,
  SphereGeometry,
  Vector4,
  type Vector3,
} from "three";

export interface Palette {
  zenith: number;
  horizon: number;
  floor: [number, number];
  sun: number;
  sky: number;
}

export const DARK: Palette = { zenith: 0x0b1011, horizon: 0x1f2a2c, floor: [0x344143, 0x2b3739], sun: 2.4, sky: 1.35 };
export const LIGHT: Palette = { zenith: 0xb9cfe8, horizon: 0xf1f5f9, floor: [0xe9ebe9, 0xdce0df], sun: 2.4, sky: 1.45 };

/** Half the side of the floor, and where it has faded, in view distances. */
const FAR = 14;

export class Stage {
  readonly group = new Group();
  private readonly shared = {
    uFirst: { value: new Color() },
    uSecond: { value: new Color() },
    uHorizon: { value: new Color() },
    uZenith: { value: new Color() },
    uCell: { value: 1 },
    uFade: { value: 30 },
    uHole: { value: new Vector4() },
  };
  /** For uneven ground. */
  readonly terrainMaterial = this.checkered(false);
  private readonly sun = new DirectionalLight(0xfff4e6, 2.6);
  private readonly fill = new DirectionalLight(0xbfd4ff, 0.5);
  private readonly sky = new HemisphereLight(0xffffff, 0x8a8f98, 1.6);
  private readonly floor = new Mesh(new PlaneGeometry(2, 2), this.checkered(true));
  private readonly dome: Mesh<SphereGeometry, ShaderMaterial>;

  constructor() {
    this.dome = new Mesh(
      new SphereGeometry(1, 24, 16),
      new ShaderMaterial({ side: BackSide, depthWrite: false, depthTest: false, uniforms: this.shared, vertexShader: DOME_VERTEX, fragmentShader: DOME_FRAGMENT }),
    );
    this.dome.renderOrder = -1;
    this.dome.frustumCulled = false;
    this.floor.receiveShadow = true;
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0002;
    this.sun.shadow.normalBias = 0.01;
    this.sun.shadow.intensity = 0.75;
    this.group.add(this.dome, this.floor, this.sky, this.sun, this.sun.target, this.fill, this.fill.target);
    this.paint(LIGHT);
  }

  paint(palette: Palette): void {
    this.shared.uFirst.value.set(palette.floor[0]);
    this.shared.uSecond.value.set(palette.floor[1]);
    this.shared.uHorizon.value.set(palette.horizon);
    this.shared.uZenith.value.set(palette.zenith);
    this.sun.intensity = palette.sun;
    this.sky.intensity = palette.sky;
  }

  /** Side of a square of the floor, its height, and the rectangle (low x, low y, high x, high y) where uneven ground lies instead. */
  ground(cell: number, height: number, hole: readonly [number, number, number, number] | null): void {
    this.shared.uCell.value = cell;
    this.shared.uHole.value.set(...(hole ?? [0, 0, 0, 0]));
    this.floor.position.z = height;
  }

  shadows(size: number): void {
    this.sun.castShadow = size > 0;
    if (size === 0 || size === this.sun.shadow.mapSize.x) return;
    this.sun.shadow.mapSize.set(size, size);
    this.sun.shadow.map?.dispose();
    this.sun.shadow.map = null;
  }

  /** Brings floor, sky and light to where the camera looks, from how far it looks. */
  attend(eye: Vector3, target: Vector3, distance: number): void {
    const far = FAR * Math.max(distance, 1.5);
    this.floor.position.set(target.x, target.y, this.floor.position.z);
    this.floor.scale.set(far, far, 1);
    this.shared.uFade.value = far;
    this.dome.position.copy(eye);
    this.dome.scale.setScalar(distance); // between the camera's near and far
    const reach = Math.min(Math.max(distance * 0.9, 0.6), 25);
    const { camera } = this.sun.shadow;
    if (Math.abs(camera.right - reach) > reach * 0.02) {
      camera.left = camera.bottom = -reach;
      camera.right = camera.top = reach;
      camera.near = reach * 0.1;
      camera.far = reach * 6;
      this.sun.shadow.normalBias = reach * 0.0015;
      camera.updateProjectionMatrix();
    }
    this.sun.target.position.copy(target);
    this.sun.position.set(target.x + reach * 1.1, target.y + reach * 1.4, target.z + reach * 2.4);
    this.fill.target.position.copy(target);
    this.fill.position.set(target.x - reach, target.y - reach * 1.3, target.z + reach * 0.8);
  }

  private checkered(endless: boolean): MeshLambertMaterial {
    const material = new MeshLambertMaterial({ polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 8 }); // mats lie on it
    const paint = endless ? "if (inHole(vPlace.xy)) discard;" : "diffuseColor.rgb *= relief(vPlace);";
    material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.shared);
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nvarying vec3 vPlace;")
        .replace("#include <begin_vertex>", "#include <begin_vertex>\nvPlace = (modelMatrix * vec4(position, 1.0)).xyz;");
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", `#include <common>\nvarying vec3 vPlace;\n${CHECKER}`)
        .replace("#include <color_fragment>", `#include <color_fragment>\ndiffuseColor.rgb = checker(vPlace.xy / uCell);\n${paint}`)
        .replace("#include <opaque_fragment>", "outgoingLight = mix(outgoingLight, uHorizon, haze(vPlace.xy));\n#include <opaque_fragment>");
    };
    material.customProgramCacheKey = () => paint;
    return material;
  }

  dispose(): void {
    this.floor.geometry.dispose();
    this.floor.material.dispose();
    this.terrainMaterial.dispose();
    this.dome.geometry.dispose();
    this.dome.material.dispose();
    this.sun.dispose();
  }
}

/** Box-filtered checks: the integral of a square wave over a pixel's footprint, so that far squares turn grey, not to noise. */
const CHECKER = `
uniform vec3 uFirst; uniform vec3 uSecond; uniform vec3 uHorizon; uniform float uCell; uniform float uFade; uniform vec4 uHole;
bool inHole(vec2 at) {
  return all(greaterThan(at, uHole.xy)) && all(lessThan(at, uHole.zw));
}
vec3 checker(vec2 at) {
  vec2 wide = max(fwidth(at), 1e-5) * 1.2;
  vec2 wave = 2.0 * (abs(fract((at - 0.5 * wide) * 0.5) - 0.5) - abs(fract((at + 0.5 * wide) * 0.5) - 0.5)) / wide;
  vec3 colour = mix(uFirst, uSecond, 0.5 - 0.5 * wave.x * wave.y);
  vec2 edge = abs(fract(at - 0.5) - 0.5) / wide;
  return colour * (1.0 - 0.06 * (1.0 - smoothstep(0.6, 1.4, min(edge.x, edge.y))) / (1.0 + 2.0 * max(wide.x, wide.y)));
}
float relief(vec3 place) {
  float up = abs(normalize(cross(dFdx(place), dFdy(place))).z);
  return 0.5 + 0.5 * pow(up, 6.0);
}
float haze(vec2 at) {
  return smoothstep(0.12, 0.95, distance(at, cameraPosition.xy) / uFade);
}
`;

const DOME_VERTEX = `
varying vec3 vAway;
void main() {
  vAway = position;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}
`;

const DOME_FRAGMENT = `
uniform vec3 uHorizon; uniform vec3 uZenith;
varying vec3 vAway;
void main() {
  gl_FragColor = vec4(mix(uHorizon, uZenith, smoothstep(0.0, 0.65, normalize(vAway).z)), 1.0);
  #include <colorspace_fragment>
}
`;
