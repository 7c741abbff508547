// The curves of one run: fetched when a chart first wants them, kept up to date by the log lane.

import type { EpisodeRow, FromServer, LogPush, RunEvent } from "../generated/messages";
import { api } from "../wire/api";
import type { Block } from "../wire/pdks";
import type { LogLane } from "../wire/socket";
import { Series } from "./series";

/** Points that a whole curve is fetched with: one for each pixel of a wide screen. */
export const POINTS = 2000;
/** A curve that has grown by so many live points is fetched again, at the resolution that fits. */
const GROWN = 4000;
const NAMES_PER_ASK = 40;

export interface LogListener {
  log?(push: LogPush): void;
  rewound?(): void;
}

/** Follows a run for as long as anybody looks. */
export class RunSeries {
  readonly series = new Map<string, Series>();
  readonly names = new Set<string>();
  private cursor: Record<string, unknown> | null = null;
  private early: LogPush[] = [];
  private wanted = new Set<string>();
  private fetching = new Set<string>();
  private timer = 0;
  private epoch = 0;
  private readonly listeners = new Set<() => void>();
  private readonly logs = new Set<LogListener>();

  constructor(
    readonly run: string,
    private readonly lane: LogLane,
  ) {}

  /** Follow from now on, until what is returned is called. What was written before is fetched, so nothing is missed between the two. */
  follow(): () => void {
    const offPush = this.lane.onPush((push) => this.heard(push));
    let connected = this.lane.connection.state === "live";
    const offConnection = this.lane.onConnection(({ state }) => {
      const again = state === "live" && !connected;
      connected = state === "live";
      if (again && this.cursor === null) this.refetch(); // nothing came before the loss, so there is nothing to go on from
    });
    this.lane.keep(`follow ${this.run}`, () => ({ do: "follow", run: this.run, cursor: this.cursor }));
    return () => {
      offPush();
      offConnection();
      this.lane.drop(`follow ${this.run}`, { do: "unfollow", run: this.run });
    };
  }

  close(): void {
    window.clearTimeout(this.timer);
    this.epoch++;
    this.listeners.clear();
    this.logs.clear();
  }

  /** The series of a name, empty until it has come. */
  want(name: string): Series {
    const found = this.series.get(name);
    if (found) return found;
    const fresh = new Series(name);
    this.series.set(name, fresh);
    this.ask(name);
    return fresh;
  }

  /** Called after any series changed, or a name appeared. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  onLog(listener: LogListener): () => void {
    this.logs.add(listener);
    return () => this.logs.delete(listener);
  }

  private ask(name: string): void {
    this.wanted.add(name);
    if (!this.timer) this.timer = window.setTimeout(() => void this.fetchWanted(), 20);
  }

  private refetch(): void {
    this.epoch++;
    this.fetching.clear();
    this.early = [];
    for (const name of this.series.keys()) this.ask(name);
  }

  private async fetchWanted(): Promise<void> {
    this.timer = 0;
    const names = [...this.wanted];
    this.wanted.clear();
    for (const name of names) this.fetching.add(name);
    const epoch = this.epoch;
    for (let at = 0; at < names.length; at += NAMES_PER_ASK) await this.fetch(names.slice(at, at + NAMES_PER_ASK), epoch);
  }

  private async fetch(names: string[], epoch: number): Promise<void> {
    try {
      const blocks = await api.series({ runs: [this.run], names, points: POINTS });
      if (epoch === this.epoch) this.take(blocks);
    } catch (error) {
      if (epoch !== this.epoch) return;
      for (const name of names) this.fail(name, error);
    }
    this.changed();
  }

  private fail(name: string, error: unknown): void {
    this.fetching.delete(name);
    const series = this.series.get(name);
    if (!series) return;
    series.error = error instanceof Error ? error.message : String(error);
    series.version++;
  }

  private take(blocks: Block[]): void {
    for (const block of blocks) {
      this.fetching.delete(block.head.name);
      this.series.get(block.head.name)?.replace(block);
    }
    for (const push of this.early) this.append(push); // points that came while we asked; those already in are skipped
    if (this.fetching.size === 0) this.early = [];
  }

  private heard(push: FromServer): void {
    if ((push.kind !== "log" && push.kind !== "rewound") || push.run !== this.run) return;
    if (push.kind === "rewound") {
      this.refetch();
      for (const listener of this.logs) listener.rewound?.();
      return;
    }
    this.cursor = push.cursor;
    for (const [name] of push.points) this.names.add(name);
    if (this.fetching.size > 0) this.early.push(push);
    this.append(push);
    for (const listener of this.logs) listener.log?.(push);
    if (push.points.length > 0) this.changed();
  }

  private append({ points }: LogPush): void {
    for (const [name, i, step, time, value] of points) {
      const series = this.series.get(name);
      if (!series || this.fetching.has(name) || this.wanted.has(name)) continue;
      const fits = series.append(i, step, time, value);
      if (!fits || series.n > GROWN) this.ask(name);
    }
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}

export type { EpisodeRow, RunEvent };
