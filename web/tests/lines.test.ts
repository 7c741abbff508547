import { expect, test, vi } from "vitest";

import { type Curve, extentOf, linesOf, stepAt, xOf } from "../src/charts/lines";
import { trace } from "../src/charts/ink";
import { readAt } from "../src/charts/reading";
import { Series } from "../src/series/series";
import { decodeSeries } from "../src/wire/pdks";
import { answer, block } from "./blocks";

function series(values: number[], whole = true): Series {
  const made = new Series("a");
  made.replace(decodeSeries(answer([block("a", values, { whole })]))[0]!);
  return made;
}

const curve = (values: number[], group = "g", episodes?: Series): Curve => ({
  label: `${values[0]}`,
  colour: "red",
  group,
  groupLabel: group,
  series: series(values),
  episodes,
});

test("x by steps, by seconds since the first value, by episodes, and back to steps", () => {
  const own = series([5, 6, 7]);
  const episodes = series([0, 10, 40]);
  expect([...xOf(own, "steps", undefined)]).toEqual([0, 1, 2]);
  expect([...xOf(own, "time", undefined)]).toEqual([0, 1, 2]);
  expect([...xOf(own, "episodes", episodes)]).toEqual([0, 10, 40]);
  expect(stepAt(own, "episodes", episodes, 25)).toBe(1.5);
});

test("each run is a line; taken together, seeds of one group are one with a band", () => {
  const curves = [curve([1, 2]), curve([3, 6]), curve([9, 9], "other")];
  const looks = { axis: "steps", smoothing: 0, together: null } as const;
  expect(linesOf(curves, looks).map(({ y }) => [...y])).toEqual([[1, 2], [3, 6], [9, 9]]);
  const joined = linesOf(curves, { ...looks, together: { middle: "mean", spread: "range" } });
  expect(joined.map(({ label }) => label)).toEqual(["g (2 runs)", "other"]);
  expect([...joined[0]!.y]).toEqual([2, 4]);
});

test("what is drawn has room: buckets count with their lowest and highest, and only what is in view", () => {
  const line = { label: "", colour: "", x: Float64Array.of(0, 1, 2), y: Float64Array.of(5, 6, 7), low: Float64Array.of(-1, 6, 7), high: null, raw: null };
  expect(extentOf([line], null, false)).toEqual([-1, 7]);
  expect(extentOf([line], [1.2, 1.8], false)).toEqual([6, 7]);
  expect(extentOf([line], null, true)).toEqual([5, 7]); // on a log axis what is not above zero has no place
  expect(extentOf([], null, false)).toBeNull();
});

test("a place of x reads the nearest point of each line", () => {
  const [line] = linesOf([curve([1, 2, 3])], { axis: "steps", smoothing: 0, together: null });
  expect([-5, 0.4, 0.6, 99].map((x) => readAt([line!], x)[0]!.value)).toEqual([1, 1, 2, 3]);
});

test("however many points fall onto a column of pixels, it is drawn from its lowest to its highest", () => {
  const drawn: [number, number][] = [];
  const note = (x: number, y: number) => void drawn.push([x, y]);
  vi.stubGlobal("Path2D", class { moveTo = note; lineTo = note; });
  const n = 5000;
  const x = Float64Array.from({ length: n }, (_, i) => i / 50); // a hundred columns of fifty points
  const y = Float64Array.from({ length: n }, (_, i) => Math.sin(i * 12.9898) * (i === 2345 ? 100 : 1));
  trace(x, y, 0, n, (value) => value, (value) => value);
  vi.unstubAllGlobals();
  expect(drawn.length).toBeLessThan(100 * 5);
  for (let column = 0; column < 100; column++) {
    const here = drawn.filter(([at]) => Math.floor(at + 1e-9) === column).map(([, value]) => value);
    const all = [...y.slice(column * 50, column * 50 + 50)];
    expect([Math.min(...here), Math.max(...here)]).toEqual([Math.min(...all), Math.max(...all)]);
  }
});
