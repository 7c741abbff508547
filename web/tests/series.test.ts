import { expect, test } from "vitest";

import { bandOf, quantile } from "../src/series/bands";
import { grouped } from "../src/series/groups";
import { placeOf, Series } from "../src/series/series";
import { smoothed } from "../src/series/smooth";
import { decodeSeries } from "../src/wire/pdks";
import { answer, block } from "./blocks";

test("a curve decodes to the columns that its head names", () => {
  const [first, second] = decodeSeries(answer([block("a", [1, 2, 3], { total: 7, whole: false }), block("b", [5])]));
  expect([...first!.columns["step"]!]).toEqual([0, 1, 2]);
  expect([...first!.columns["mean"]!]).toEqual([1, 2, 3]);
  expect(first!.head.total).toBe(7);
  expect([...second!.columns["mean"]!]).toEqual([5]);
  expect(() => decodeSeries(new ArrayBuffer(4))).toThrow("Load the page again");
});

test("live points go on where the fetched ones end: none twice, a gap is said", () => {
  const series = new Series("a");
  series.replace(decodeSeries(answer([block("a", [10, 11])]))[0]!);
  expect(series.append(1, 1, 101, 99)).toBe(true); // the server's answer had it already
  expect(series.append(2, 2, 102, 12)).toBe(true);
  expect(series.append(4, 4, 104, 14)).toBe(false);
  expect([...series.column("mean")]).toEqual([10, 11, 12]);
  for (let i = 3; i < 2000; i++) expect(series.append(i, i, i, i)).toBe(true);
  expect(series.n).toBe(2000);
  expect(series.column("max")[1999]).toBe(1999);
});

test("the place of an x is the last that is not beyond it", () => {
  expect([-1, 0, 0.5, 1, 5].map((x) => placeOf([0, 1, 2], x))).toEqual([-1, 0, 0, 1, 2]);
  expect(placeOf([], 1)).toBe(-1);
});

test("smoothing changes nothing at 0, keeps a constant, and steps over what is no number", () => {
  const values = Float64Array.of(1, 5, NaN, 3);
  expect([...smoothed(values, 0)]).toEqual([...values]);
  expect(smoothed(new Float64Array(5).fill(7), 0.9).every((value) => Math.abs(value - 7) < 1e-12)).toBe(true);
  expect(smoothed(values, 0.5)[3]).toBeCloseTo((0.5 * 3 + 0.25 * 5 + 0.125 * 1) / 0.875, 12);
});

test("seeds of equal steps join exactly; of other steps between their points, and never beyond their ends", () => {
  const xy = (x: number[], y: number[]) => ({ x: Float64Array.from(x), y: Float64Array.from(y) });
  const equal = bandOf([xy([0, 1], [1, 2]), xy([0, 1], [3, 6])], "mean", "range");
  expect([[...equal.y], [...equal.low], [...equal.high]]).toEqual([[2, 4], [1, 2], [3, 6]]);
  const other = bandOf([xy([0, 10], [0, 10]), xy([0, 5], [0, 50])], "mean", "range");
  expect(other.y[0]).toBe(0);
  expect(other.y.at(-1)).toBe(10); // the second had ended
  expect(quantile([1, 2, 3, 4], 0.25)).toBe(1.75);
  expect(quantile([], 0.5)).toBeNaN();
});

test("scalars are grouped by prefix, what people look at first comes first", () => {
  const groups = grouped(["learn/kl", "steps_per_s", "evaluation/return", "zoo/x", "episode/return"]);
  expect(groups.map(({ name }) => name)).toEqual(["evaluation", "episode", "learn", "zoo", ""]);
  expect(grouped(["learn/kl", "learn/clip"], "kl")[0]!.names).toEqual(["learn/kl"]);
});
