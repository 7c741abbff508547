// What the charts of one page share: how they are drawn, what is in view, where the mouse is.

import type { RunSeries } from "../series/store";
import type { Middle, Spread } from "../series/bands";
import { recall, remember } from "../state/memory";
import type { Curve, XAxis } from "./lines";
import { Windows } from "./windows";

/** A run whose curves are drawn. */
export interface Source {
  run: string;
  label: string;
  colour: string;
  group: string;
  groupLabel: string;
  curves: RunSeries;
}

interface Kept {
  axis: XAxis;
  smoothing: number;
  logX: boolean;
  logY: boolean;
  tall: boolean;
}

/** Live points are drawn so often, at most. */
const REDRAW_MS = 120;

export class Board {
  looks = $state<Kept>(recall<Kept>("charts", { axis: "steps", smoothing: 0, logX: false, logY: false, tall: false }));
  together = $state.raw<{ middle: Middle; spread: Spread } | null>(null);
  /** On the axis; null for all. */
  range = $state.raw<[number, number] | null>(null);
  hover = $state.raw<{ x: number; y: number; chart: string } | null>(null);
  /** Changes when there may be something new to draw. */
  tick = $state(0);
  readonly windows = new Windows(() => this.touch());
  private timer = 0;
  private readonly offs: (() => void)[] = [];

  listen(curves: RunSeries): void {
    this.offs.push(curves.onChange(() => this.touch()));
  }

  close(): void {
    for (const off of this.offs) off();
    this.offs.length = 0;
    window.clearTimeout(this.timer);
    this.windows.clear();
  }

  keep(change: Partial<Kept>): void {
    if (change.axis && change.axis !== this.looks.axis) this.zoom(null);
    this.looks = { ...this.looks, ...change };
    remember("charts", this.looks);
  }

  zoom(range: [number, number] | null): void {
    this.range = range;
    this.windows.clear();
    this.touch();
  }

  /** The curves of one scalar: what is in view at its true resolution, where it has come. */
  curvesOf(name: string, sources: readonly Source[]): Curve[] {
    return sources.map(({ run, label, colour, group, groupLabel, curves }) => {
      const series = curves.want(name);
      const episodes = this.looks.axis === "episodes" ? curves.want("episode/count") : undefined;
      const near = this.range && this.windows.get(run, series, this.looks.axis, episodes, this.range);
      return { label, colour, group, groupLabel, series: near ?? series, episodes };
    });
  }

  private touch(): void {
    if (!this.timer)
      this.timer = window.setTimeout(() => {
        this.timer = 0;
        this.tick++;
      }, REDRAW_MS);
  }
}
