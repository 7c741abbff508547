import { describe, expect, it } from "vitest";

import { FocusHistory, KEPT } from "../src/live/history";
import { offsetsOf } from "../src/scene/layout";
import { LEVELS, Pace } from "../src/scene/pace";

const tail = (world: number, rest: object) => ({ dropped: 0, steps_per_s: 0, world, ...rest });

describe("what is remembered of the world in focus", () => {
  it("is the last frames of each name, newest last", () => {
    const history = new FocusHistory();
    for (let i = 0; i < KEPT + 5; i++) history.take(tail(2, { action: [i, -i] }));
    const [action] = history.traces;
    expect(action!.length).toBe(KEPT);
    expect([action!.at(0, 0), action!.at(0, 1), action!.at(KEPT - 1, 0)]).toEqual([KEPT + 4, -KEPT - 4, 5]);
  });
  it("is a running mean of each reward term, with its sign", () => {
    const history = new FocusHistory();
    for (let i = 0; i < 400; i++) history.take(tail(0, { reward: { effort: i % 2 ? -1 : -3 } }));
    expect(history.terms[0]!.mean).toBeCloseTo(-2, 0);
    expect(history.terms[0]!.now).toBe(-1);
  });
  it("begins anew with another world", () => {
    const history = new FocusHistory();
    history.take(tail(0, { reward: { upright: 1 }, action: [1] }));
    history.take(tail(1, {}));
    expect([history.terms.length, history.traces.length]).toEqual([0, 0]);
  });
});

describe("worlds stand", () => {
  it("on a rectangle around the middle, each in its own place", () => {
    const offsets = offsetsOf(16, "grid", [2, 2]);
    expect(offsets.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 5);
    const places = new Set(Array.from({ length: 16 }, (_, i) => `${offsets[2 * i]},${offsets[2 * i + 1]}`));
    expect(places.size).toBe(16);
    expect(Math.max(...offsets)).toBe(3);
  });
  it("in more columns where they are slim", () => {
    const offsets = offsetsOf(16, "grid", [8, 2]);
    const along = (axis: number) => new Set(Array.from({ length: 16 }, (_, i) => offsets[2 * i + axis])).size;
    expect([along(0), along(1)]).toEqual([2, 8]);
  });
  it("or in one place", () => {
    expect([...offsetsOf(3, "overlay", [2, 2])]).toEqual([0, 0, 0, 0, 0, 0]);
  });
});

describe("the pace", () => {
  it("draws less where pictures keep being slow, step by step, and never less than the least", () => {
    const pace = new Pace();
    let now = 0, changes = 0;
    for (let i = 0; i < 200; i++) changes += Number(pace.drawn((now += 120), true));
    expect(pace.now).toBe(LEVELS[LEVELS.length - 1]);
    expect(changes).toBe(LEVELS.length - 1);
  });
  it("goes to the least at once where a picture takes a second", () => {
    const pace = new Pace();
    let now = 0, pictures = 0;
    while (pace.level === 0 && pictures < 50) pictures += Number(!pace.drawn((now += 1000), true));
    expect(pace.now.name).toBe("coarse");
    expect(pictures).toBeLessThan(8);
  });
  it("draws what was chosen, however slow", () => {
    const pace = new Pace();
    pace.pin("plain");
    for (let now = 0; now < 50_000; now += 1000) pace.drawn(now, true);
    expect(pace.now.name).toBe("plain");
  });
  it("forgives a slow picture now and then, and rests between movements", () => {
    const pace = new Pace();
    let now = 0;
    for (let i = 0; i < 200; i++) pace.drawn((now += i % 5 === 0 ? 120 : 16), true);
    for (let i = 0; i < 200; i++) pace.drawn((now += 500), false);
    expect(pace.level).toBe(0);
  });
});
