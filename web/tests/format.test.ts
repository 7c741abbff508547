import { expect, test } from "vitest";

import { logTicks } from "../src/charts/ticks";
import { ago, brief, bytes, duration, plain, share } from "../src/format";

test("brief keeps three digits that count, and zeros before the point", () => {
  expect([0, 7.5, 950, 1000, 20_000, 21_504, 100_000, 999_600, 1_500_000, 2.5e9].map(brief)).toEqual(
    ["0", "7.5", "950", "1k", "20k", "21.5k", "100k", "1M", "1.5M", "2.5G"],
  );
});

test("plain says what is no number, and writes exponents only where they help", () => {
  expect([null, NaN, Infinity, 0, 0.00012, 0.25, -3.14159, 12345.6].map(plain)).toEqual(
    ["–", "NaN", "∞", "0", "1.20e−4", "0.25", "−3.142", "12,346"],
  );
});

test("durations, sizes, shares and ages", () => {
  expect([5, 65, 3725, 100_000].map(duration)).toEqual(["5 s", "1 min 05 s", "1 h 02 min", "1 d 3 h"]);
  expect([12, 1500, 10_000_000].map(bytes)).toEqual(["12 B", "1.5 kB", "10 MB"]);
  expect(share(0.956)).toBe("96 %");
  const now = Date.parse("2026-01-02T00:00:00Z");
  expect(["2026-01-01T23:59:50Z", "2026-01-01T23:30:00Z", "2026-01-01T12:00:00Z", "never"].map((at) => ago(at, now))).toEqual(
    ["just now", "30 min ago", "12 h ago", "–"],
  );
});

test("a logarithmic axis has a handful of lines, whatever it spans", () => {
  expect(logTicks(0.9, 1100)).toEqual([1, 10, 100, 1000]);
  expect(logTicks(3, 70)).toEqual([5, 10, 20, 50]);
  expect(logTicks(0.22, 1.1)).toEqual([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
  expect(logTicks(1e-12, 1e6).length).toBeLessThan(8);
  expect(logTicks(1.01, 1.02)).toEqual([1.01, 1.02]);
});
