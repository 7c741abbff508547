import { describe, expect, it } from "vitest";

import { decodeFrame } from "../src/scene/frames";

/** A frame as the protocol has it, byte by byte. */
function frame(worlds: number[], nq: number, tail: string): ArrayBuffer {
  const json = new TextEncoder().encode(tail);
  const data = new ArrayBuffer(32 + 8 * worlds.length + 4 * worlds.length * nq + json.length);
  const view = new DataView(data);
  new Uint8Array(data).set(new TextEncoder().encode("PDKF"));
  view.setUint8(4, 1);
  view.setUint8(5, 1);
  view.setUint16(6, 7, true);
  view.setUint32(8, 41, true);
  view.setUint32(12, worlds.length, true);
  view.setUint32(16, nq, true);
  view.setUint32(20, json.length, true);
  view.setFloat64(24, 123456, true);
  worlds.forEach((world, i) => {
    view.setUint32(32 + 4 * i, 100 + i, true);
    view.setUint32(32 + 4 * (worlds.length + i), world, true);
    for (let k = 0; k < nq; k++) view.setFloat32(32 + 8 * worlds.length + 4 * (i * nq + k), i + k / 10, true);
  });
  new Uint8Array(data).set(json, data.byteLength - json.length);
  return data;
}

describe("frames", () => {
  it("are read without a copy of their poses", () => {
    const data = frame([3, 250], 4, '{"dropped":2,"steps_per_s":1000,"world":3,"reward":{"upright":0.5}}');
    const read = decodeFrame(data);
    expect([read.stream, read.seq, read.envSteps, read.n, read.nq]).toEqual([7, 41, 123456, 2, 4]);
    expect([...read.ages]).toEqual([100, 101]);
    expect([...read.worlds]).toEqual([3, 250]);
    expect(read.qpos[5]).toBeCloseTo(1.1, 6);
    expect(read.qpos.buffer).toBe(data);
    expect(read.tail.reward).toEqual({ upright: 0.5 });
  });
  it("may have no tail", () => {
    expect(decodeFrame(frame([0], 2, "")).tail.world).toBe(-1);
  });
  it("that are cut short or foreign say so", () => {
    const whole = frame([0, 1], 3, "{}");
    expect(() => decodeFrame(whole.slice(0, -1))).toThrow(/promises/);
    expect(() => decodeFrame(new ArrayBuffer(40))).toThrow(/no frame/);
    new Uint8Array(whole)[4] = 9;
    expect(() => decodeFrame(whole)).toThrow(/version 9/);
  });
});
