// Zoomed in, a curve of buckets is fetched again between the two steps in view, until every value itself is there.

import { Series } from "../series/series";
import { POINTS } from "../series/store";
import { api } from "../wire/api";
import { stepAt, type XAxis } from "./lines";

interface Ask {
  run: string;
  first: number;
  last: number;
  names: Set<string>;
}

/** A little more than is in view, so that lines reach the edges. */
const MARGIN = 0.02;
const WAIT_MS = 60;

export class Windows {
  private readonly known = new Map<string, Series | null>();
  private readonly asks = new Map<string, Ask>();
  private timer = 0;
  private epoch = 0;

  constructor(private readonly changed: () => void) {}

  clear(): void {
    this.known.clear();
    this.asks.clear();
    this.epoch++;
  }

  /** The series between two places of the axis; undefined where the whole one is exact already, or until it has come. */
  get(run: string, series: Series, axis: XAxis, episodes: Series | undefined, [from, to]: [number, number]): Series | undefined {
    if (series.whole || series.n === 0) return undefined;
    const key = `${run}\n${series.name}`;
    const found = this.known.get(key);
    if (found !== undefined) return found ?? undefined;
    const margin = (to - from) * MARGIN;
    const first = Math.max(0, Math.floor(stepAt(series, axis, episodes, from - margin)));
    const last = Math.ceil(stepAt(series, axis, episodes, to + margin));
    if (!Number.isFinite(first) || !Number.isFinite(last)) return undefined;
    this.known.set(key, null);
    const ask = this.asks.get(run) ?? { run, first, last, names: new Set() };
    ask.first = Math.min(ask.first, first);
    ask.last = Math.max(ask.last, last);
    ask.names.add(series.name);
    this.asks.set(run, ask);
    if (!this.timer) this.timer = window.setTimeout(() => void this.fetch(), WAIT_MS);
    return undefined;
  }

  private async fetch(): Promise<void> {
    this.timer = 0;
    const epoch = this.epoch;
    const asks = [...this.asks.values()];
    this.asks.clear();
    for (const { run, first, last, names } of asks) {
      const blocks = await api.series({ runs: [run], names: [...names], points: POINTS, first, last }).catch(() => []);
      if (epoch !== this.epoch) return;
      for (const block of blocks) {
        const series = new Series(block.head.name);
        series.replace(block);
        this.known.set(`${run}\n${block.head.name}`, series);
      }
      this.changed();
    }
  }
}
