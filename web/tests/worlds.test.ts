import { describe, expect, it } from "vitest";

import { firstWorlds, parseWorlds } from "../src/live/worlds";

describe("worlds to watch", () => {
  it("are the first few of those there are", () => {
    expect(firstWorlds(4, 512)).toEqual([0, 1, 2, 3]);
    expect(firstWorlds(16, 2)).toEqual([0, 1]);
  });
  it("are numbers and ranges, each once and in order", () => {
    expect(parseWorlds("7, 3 10-12,11", 64)).toEqual([3, 7, 10, 11, 12]);
    expect(parseWorlds("5-3", 64)).toEqual([3, 4, 5]);
  });
  it("say what is wrong with them", () => {
    expect(() => parseWorlds("first", 64)).toThrow(/'first' is no world/);
    expect(() => parseWorlds("64", 64)).toThrow(/0 to 63/);
    expect(() => parseWorlds(" ", 64)).toThrow(/at least one/);
    expect(() => parseWorlds("0-300", 512)).toThrow(/up to 256/);
  });
});
