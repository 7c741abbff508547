// What every page knows: the connection, the runs, the jobs. Rows are replaced, never changed, so that only what differs is drawn.

import { type FromServer, type Hello, type Job, PROTOCOL, type RunRow } from "../generated/messages";
import { api } from "../wire/api";
import { type Connection, LogLane } from "../wire/socket";
import { complain } from "./toasts.svelte";

export const lane = new LogLane();

let connection = $state.raw<Connection>({ state: "connecting" });
let hello = $state.raw<Hello | null>(null);
let renewed = $state(false);
let rows = $state.raw<ReadonlyMap<string, RunRow>>(new Map());
let known = $state(false);
let jobs = $state.raw<readonly Job[]>([]);
let slots = $state(1);
const list = $derived([...rows.values()]);

export const cockpit = {
  get connection(): Connection {
    return connection;
  },
  get hello(): Hello | null {
    return hello;
  },
  /** Whether the server has become another version since this page was loaded. */
  get renewed(): boolean {
    return renewed || (hello !== null && hello.protocol !== PROTOCOL);
  },
  /** All runs of all places, in the order of their ids. */
  get runs(): readonly RunRow[] {
    return list;
  },
  /** Whether the runs have come, so that none means none. */
  get known(): boolean {
    return known;
  },
  get jobs(): readonly Job[] {
    return jobs;
  },
  get slots(): number {
    return slots;
  },
  run(id: string): RunRow | undefined {
    return rows.get(id);
  },
  /** The job that a run came from, where the cockpit started it. */
  jobOf(run: string): Job | undefined {
    return jobs.findLast((job) => job.run === run);
  },
  /** Show a change before the server pushes it. */
  assume(id: string, change: Partial<RunRow>): void {
    const row = rows.get(id);
    if (row) rows = new Map(rows).set(id, { ...row, ...change });
  },
};

export function open(): void {
  lane.onConnection((now) => {
    connection = now;
    if (now.state === "live") void api.hello().then(greet, complain); // after each reconnect: it may be another server
  });
  lane.onPush(take);
  lane.keep("list", () => ({ do: "list" }));
  lane.open();
}

function greet(answer: Hello): void {
  renewed = hello !== null && hello.paddock !== answer.paddock;
  hello = answer;
}

function take(push: FromServer): void {
  if (push.kind === "runs") {
    const next = push.whole ? new Map<string, RunRow>() : new Map(rows);
    for (const id of push.gone) next.delete(id);
    for (const row of push.rows) next.set(row.id, row);
    rows = next;
    known = true;
  } else if (push.kind === "jobs") {
    const changed = new Map(push.jobs.map((job) => [job.id, job]));
    const gone = new Set(push.gone);
    const kept = push.whole ? [] : jobs.filter((job) => !gone.has(job.id));
    const old = new Set(kept.map((job) => job.id));
    jobs = [...kept.map((job) => changed.get(job.id) ?? job), ...push.jobs.filter((job) => !old.has(job.id))];
    slots = push.slots;
  } else if (push.kind === "trouble" && !(push.about === "follow" && rows.get(push.run)?.place !== "runs")) {
    complain(new Error(push.error));
  }
}
