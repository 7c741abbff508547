/** Draws one folder of SCENES: its home pose, or frames of qpos.bin (frames x worlds x nq, float32) where info.json says so. */

import type { Scene } from "../src/generated/messages";
import { readScene } from "../src/scene/scene_model";
import { Viewer } from "../src/scene/viewer";

const query = new URLSearchParams(location.search);
const folder = `/${query.get("scene") ?? "quadruped-walk"}`;
const wanted = Number(query.get("n") ?? 1);

const json = (await (await fetch(`${folder}/scene.json`)).json()) as Scene;
const viewer = new Viewer(document.querySelector("canvas")!);
viewer.load(readScene(json, await (await fetch(`${folder}/scene.bin`)).arrayBuffer()));
viewer.theme(query.has("dark"), "#ff7a1a");
Object.assign(window, { viewer });

const info = await fetch(`${folder}/info.json`);
if (info.headers.get("content-type")?.includes("json")) {
  const { n, nq, frames } = (await info.json()) as { n: number; nq: number; frames: number };
  const all = new Float32Array(await (await fetch(`${folder}/qpos.bin`)).arrayBuffer());
  let seq = Number(query.get("from") ?? 0);
  const next = () => {
    const at = (seq % frames) * n * nq;
    viewer.show({
      stream: 0,
      seq,
      envSteps: seq * n,
      n: wanted,
      nq,
      ages: new Uint32Array(wanted).fill(seq),
      worlds: Uint32Array.from({ length: wanted }, (_, i) => i),
      qpos: all.slice(at, at + wanted * nq),
      tail: { dropped: 0, steps_per_s: 0, world: 0 },
    });
    seq++;
  };
  next();
  if (!query.has("still")) setInterval(next, 33);
}
