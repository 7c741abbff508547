import { expect, test } from "vitest";

import type { FormField, RunRow } from "../src/generated/messages";
import { differing, groupKey, labelOf } from "../src/pages/compare/setups";
import { flat } from "../src/pages/run/config";
import { merged, stepsOf } from "../src/pages/run/episodes";
import { leftOf } from "../src/pages/run/eta";
import { chosen, matches, sorted } from "../src/pages/runs/sorting";
import { blamed, read } from "../src/pages/start/fields";

const row = (change: Partial<RunRow>): RunRow => ({
  id: "20260101-000000-task-s0-abcd", place: "runs", status: "finished", detail: "", alive: false, watchable: false, task: "task", algorithm: "ppo",
  preset: "default", seed: 0, sim: "cpu", num_worlds: 64, env_steps: 0, goal_steps: 0, goal_minutes: 0, share: 0, seconds: 0, steps_per_s: null,
  mean_return: null, success: null, best_success: null, created: "2026-01-01T00:00:00Z", heartbeat: "", size_bytes: 0, resumed: 0, dropped_rows: 0,
  troubles: [], pid: 0, host: "", origin: "shell", title: "", tags: [], note: "", ...change,
});

const field = (change: Partial<FormField>): FormField => ({
  name: "ppo.hidden", title: "", kind: "integer", default: 1, help: "", unit: "", choices: [], low: null, high: null, advanced: false, ...change,
});

test("a search wants every word, in any of what a run says", () => {
  const one = row({ title: "First try", tags: ["paper"], seed: 3 });
  expect(["first", "FIRST #paper", "s3 task", "other", "first other"].map((search) => matches(one, search))).toEqual([true, true, true, false, false]);
});

test("rows sort by value with the unknown last, whichever way", () => {
  const rows = [row({ id: "a", mean_return: 1 }), row({ id: "b" }), row({ id: "c", mean_return: 5 })];
  const ids = (down: boolean) => sorted(rows, { key: "return", down }).map(({ id }) => id);
  expect([ids(true), ids(false)]).toEqual([["c", "a", "b"], ["a", "c", "b"]]);
});

test("groups of runs: what works, what is over, what needs a person", () => {
  const rows = [row({ id: "a", status: "running", alive: true }), row({ id: "b", status: "crashed" }), row({ id: "c" }), row({ id: "d", place: "trash" })];
  const ids = (group: "all" | "active" | "trouble") => chosen(rows, { place: "runs", group, search: "" }).map(({ id }) => id);
  expect([ids("all"), ids("active"), ids("trouble")]).toEqual([["a", "b", "c"], ["a"], ["b"]]);
});

test("a typed value is taken or refused with a sentence", () => {
  expect(read(field({ kind: "integer" }), " 1,000 ")).toEqual({ value: 1000 });
  expect(read(field({ kind: "integer" }), "1.5")).toEqual({ error: "A whole number is wanted here." });
  expect(read(field({ kind: "number", low: 0 }), "-1")).toEqual({ error: "At least 0." });
  expect(read(field({ kind: "number" }), "3e-4")).toEqual({ value: 0.0003 });
  expect(read(field({ kind: "integers" }), "256, 128")).toEqual({ value: [256, 128] });
  expect(read(field({ kind: "boolean" }), "true")).toEqual({ value: true });
});

test("an error of the server is put beside the field that it names", () => {
  const fields = [field({ name: "steps" }), field({ name: "ppo.calm_steps" })];
  expect(blamed(fields, "ppo.calm-steps is -1, must be 0 or more.")).toBe("ppo.calm_steps");
  expect(blamed(fields, "The disk is full.")).toBe("");
});

test("settings of runs: nested ones are dotted, seeds do not part a group", () => {
  expect(flat({ a: 1, ppo: { hidden: [8, 8], net: "mlp" } }).map(({ name }) => name)).toEqual(["a", "ppo.hidden", "ppo.net"]);
  const run = (seed: number, lr: number) => ({ row: row({ seed }), settings: new Map<string, unknown>([["seed", seed], ["ppo.learning_rate", lr]]) });
  const runs = [run(0, 1e-3), run(1, 1e-3), run(0, 1e-4)];
  expect(differing(runs).map(({ name }) => name)).toEqual(["seed", "ppo.learning_rate"]);
  expect(new Set(runs.map(groupKey)).size).toBe(2);
  expect(labelOf(runs[2]!, differing(runs), true)).toBe("learning_rate 0.0001, seed 0");
});

test("time that is left is that of the nearer limit", () => {
  expect(leftOf(row({ goal_steps: 1000, env_steps: 400, steps_per_s: 10, goal_minutes: 5, seconds: 0 }))).toBe(60);
  expect(leftOf(row({ goal_minutes: 1, seconds: 45 }))).toBe(15);
  expect(leftOf(row({}))).toBeNull();
});

test("episodes join once each; their steps lie behind their end", () => {
  const episode = (id: number) => ({ id, step: 640, world: 0, episode: 0, length: 5, total: 0, success: null, cause: "", terms: [] });
  expect(merged([episode(1), episode(2)], [episode(2), episode(3)], 2).map(({ id }) => id)).toEqual([2, 3]);
  expect(stepsOf(episode(1), 64)).toEqual([321, 640]);
});
