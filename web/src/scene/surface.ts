/** What robots are made of: one material for all parts, whose colour, roughness and glow come with each vertex, and a tint with each robot. */

import { MeshStandardMaterial } from "three";

/** Attributes beside position, normal and color that the material reads: roughness and emission of a vertex, tint of an instance. */
export const SURFACE = "surface";
export const TINT = "tint";

/** Roughness of a MuJoCo material: its shininess says how narrow a highlight is, its specular how bright. */
export function roughnessOf(specular: number, shininess: number): number {
  return Math.min(0.95, Math.max(0.18, 1 - 0.55 * shininess - 0.25 * specular));
}

/** What shiny parts mirror, without a texture: a bright sky with a lamp in it over a dim floor, blurred by roughness. */
const MIRRORED = `
vec3 toEye = normalize(vViewPosition);
vec3 away = inverseTransformDirection(reflect(-toEye, normal), viewMatrix);
float blur = vSurface.x * vSurface.x;
float sky = mix(0.18, 0.85, smoothstep(-0.1 - blur, 0.25 + blur, away.z));
float lamp = 2.2 * pow(max(dot(away, vec3(-0.5, -0.62, 0.6)), 0.0), mix(60.0, 4.0, blur));
float edge = pow(1.0 - max(dot(normal, toEye), 0.0), 5.0);
outgoingLight += (sky + lamp) * (0.035 + 0.5 * edge * (1.0 - blur)) * (1.0 - 0.7 * blur);
`;

export function surfaceMaterial(transparent: boolean): MeshStandardMaterial {
  const material = new MeshStandardMaterial({ vertexColors: true, transparent, depthWrite: !transparent, metalness: 0 });
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", `#include <common>\nattribute vec2 ${SURFACE};\nattribute vec4 ${TINT};\nvarying vec2 vSurface;\nvarying vec4 vTint;`)
      .replace("#include <begin_vertex>", `#include <begin_vertex>\nvSurface = ${SURFACE};\nvTint = ${TINT};`);
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nvarying vec2 vSurface;\nvarying vec4 vTint;")
      .replace("#include <color_fragment>", "#include <color_fragment>\ndiffuseColor.rgb = mix(diffuseColor.rgb, vTint.rgb, vTint.a);")
      .replace("#include <roughnessmap_fragment>", "float roughnessFactor = vSurface.x;")
      .replace("#include <opaque_fragment>", `${MIRRORED}\n#include <opaque_fragment>`)
      .replace("#include <emissivemap_fragment>", "totalEmissiveRadiance += diffuseColor.rgb * (vSurface.y + 0.35 * vTint.a);");
  };
  return material;
}
