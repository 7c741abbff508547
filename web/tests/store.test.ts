import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { FollowAsk, FromServer, LogPush } from "../src/generated/messages";
import { RunSeries } from "../src/series/store";
import { LogLane } from "../src/wire/socket";
import { answer, block } from "./blocks";

/** The browser's end of a socket, with a server behind it that does what the test says. */
class Wire {
  static readonly OPEN = 1;
  static now: Wire;
  static readonly heard: string[] = [];
  readyState = 0;
  onopen = () => {};
  onmessage: (event: { data: string }) => void = () => {};
  onclose: (event: { code: number }) => void = () => {};

  constructor(
    readonly url: string,
    readonly protocol: string,
  ) {
    Wire.now = this;
  }

  send = (text: string) => Wire.heard.push(text);
  close = (code = 1006) => ((this.readyState = 3), this.onclose({ code }));
  accept = () => ((this.readyState = Wire.OPEN), this.onopen());
  say = (push: FromServer) => this.onmessage({ data: JSON.stringify(push) });

  /** Values of the scalar from number `from` on. */
  write(from: number, values: number[]): void {
    const points = values.map((value, k): LogPush["points"][number] => ["a", from + k, from + k, 100 + from + k, value]);
    const cursor = { at: from + values.length };
    this.say({ kind: "log", run: "r", seq: 0, points, episodes: [], skipped: 0, events: [], lines: [], live: true, cursor });
  }
}

let lane: LogLane;
let run: RunSeries;
let stop: () => void;
let written: number[];
let fetches: number;
const means = () => [...run.want("a").column("mean")];
const lastFollow = () => JSON.parse(Wire.heard.at(-1)!) as FollowAsk;

/** The connection breaks, and the next one is taken after a while. */
async function reconnect(): Promise<void> {
  Wire.now.close();
  expect(lane.connection.state).toBe("lost");
  await vi.advanceTimersByTimeAsync(1000);
  Wire.now.accept();
}

beforeEach(() => {
  vi.useFakeTimers();
  written = [0, 1, 2];
  fetches = 0;
  Wire.heard.length = 0;
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("document", { baseURI: "http://host/prefix/" });
  vi.stubGlobal("WebSocket", Wire);
  vi.stubGlobal("fetch", async (url: string) => {
    expect(url).toBe("http://host/prefix/c/series?runs=r&names=a&points=2000");
    fetches++;
    return new Response(answer([block("a", written)]));
  });
  lane = new LogLane();
  lane.open();
  expect([Wire.now.url, Wire.now.protocol]).toEqual(["ws://host/prefix/c/live", "paddock.v1"]);
  Wire.now.accept();
  run = new RunSeries("r", lane);
  stop = run.follow();
});

afterEach(() => {
  stop();
  run.close();
  lane.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("what is pushed while the curve is fetched is neither lost nor doubled", async () => {
  run.want("a");
  await vi.advanceTimersByTimeAsync(20);
  expect(means()).toEqual([0, 1, 2]);
  Wire.now.write(2, [2, 3]); // the first of them was in the answer
  expect(means()).toEqual([0, 1, 2, 3]);
});

test("a reconnect goes on from the last cursor", async () => {
  run.want("a");
  await vi.advanceTimersByTimeAsync(50);
  expect(lastFollow()).toEqual({ do: "follow", run: "r", cursor: null });
  Wire.now.write(3, [3]);
  await reconnect();
  expect(lastFollow().cursor).toEqual({ at: 4 });
  Wire.now.write(4, [4, 5]);
  expect(means()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(fetches).toBe(1);
});

test("a reconnect before anything was pushed fetches again, for there is no cursor to go on from", async () => {
  run.want("a");
  await vi.advanceTimersByTimeAsync(50);
  written = [0, 1, 2, 3, 4];
  await reconnect();
  await vi.advanceTimersByTimeAsync(50);
  expect(means()).toEqual([0, 1, 2, 3, 4]);
});

test("a gap in the numbers, and a rewound run, fetch again", async () => {
  run.want("a");
  await vi.advanceTimersByTimeAsync(50);
  written = [0, 1, 2, 3, 4, 5];
  Wire.now.write(5, [5]);
  await vi.advanceTimersByTimeAsync(50);
  expect(means()).toEqual([0, 1, 2, 3, 4, 5]);
  written = [0, 1];
  Wire.now.say({ kind: "rewound", run: "r" });
  await vi.advanceTimersByTimeAsync(50);
  expect(means()).toEqual([0, 1]);
});

test("a refusal is the end: no retries, and the reason is there to be shown", async () => {
  Wire.now.close(4401);
  const refused = Wire.now;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lane.connection).toMatchObject({ state: "refused", why: expect.stringContaining("token") });
  expect(Wire.now).toBe(refused);
});
