// From curves to lines that can be drawn: which x, how smooth, which seeds together.

import { byKey } from "../grouping";
import { placeOf, type Series } from "../series/series";
import { bandOf, type Middle, type Spread } from "../series/bands";
import { smoothed } from "../series/smooth";

export type XAxis = "steps" | "time" | "episodes";

/** What a chart draws: a line, and around it what it was made of. */
export interface Line {
  label: string;
  colour: string;
  x: Float64Array;
  y: Float64Array;
  /** Lowest and highest behind each point; null where each point is one value. */
  low: Float64Array | null;
  high: Float64Array | null;
  /** The line before it was smoothed; null where it was not. */
  raw: Float64Array | null;
}

/** One curve of one run, and what is needed to place it. */
export interface Curve {
  label: string;
  colour: string;
  /** Curves of one group are drawn as one where seeds are taken together. */
  group: string;
  groupLabel: string;
  series: Series;
  /** Of the same run: how many episodes had ended. */
  episodes: Series | undefined;
}

export interface Looks {
  axis: XAxis;
  smoothing: number;
  /** Null leaves every run its own line. */
  together: { middle: Middle; spread: Spread } | null;
}

/** A point's place on the axis: steps, seconds since the run's first value, or episodes. */
export function xOf(series: Series, axis: XAxis, episodes: Series | undefined): Float64Array {
  const steps = series.column("step");
  if (axis === "steps") return steps;
  if (axis === "time") return series.column("time").map((at) => at - series.firstTime);
  if (!episodes || episodes.n === 0) return new Float64Array(steps.length).fill(NaN);
  const at = episodes.column("step");
  const counts = episodes.column("max");
  return steps.map((step) => between(at, counts, step));
}

/** The step at which an axis reads `x`: the way back, to ask the server for what is in view. */
export function stepAt(series: Series, axis: XAxis, episodes: Series | undefined, x: number): number {
  return axis === "steps" ? x : between(xOf(series, axis, episodes), series.column("step"), x);
}

function between(xs: Float64Array, ys: Float64Array, x: number): number {
  const place = placeOf(xs, x);
  if (place < 0) return ys[0] ?? NaN;
  if (place >= xs.length - 1) return ys[xs.length - 1]!;
  const share = (x - xs[place]!) / (xs[place + 1]! - xs[place]!);
  return ys[place]! + share * (ys[place + 1]! - ys[place]!);
}

export function linesOf(curves: readonly Curve[], looks: Looks): Line[] {
  const drawn = curves.filter(({ series }) => series.n > 0);
  if (!looks.together) return drawn.map((curve) => alone(curve, looks));
  return [...byKey(drawn, ({ group }) => group).values()].map((members) => joined(members, looks));
}

function alone({ label, colour, series, episodes }: Curve, { axis, smoothing }: Looks): Line {
  const mean = series.column("mean");
  const [low, high] = series.whole ? [null, null] : [series.column("min"), series.column("max")];
  const line = { label, colour, x: xOf(series, axis, episodes), low, high };
  return smoothing > 0 ? { ...line, y: smoothed(mean, smoothing), raw: mean } : { ...line, y: mean, raw: null };
}

function joined(members: Curve[], { axis, smoothing, together }: Looks): Line {
  const [first] = members as [Curve, ...Curve[]];
  if (members.length === 1) return { ...alone(first, { axis, smoothing, together }), label: first.groupLabel };
  const curves = members.map(({ series, episodes }) => {
    const mean = series.column("mean");
    return { x: xOf(series, axis, episodes), y: smoothing > 0 ? smoothed(mean, smoothing) : mean };
  });
  const { x, y, low, high } = bandOf(curves, together!.middle, together!.spread);
  return { label: `${first.groupLabel} (${members.length} runs)`, colour: first.colour, x, y, low, high, raw: null };
}

/** The least and the greatest of what is drawn between two places of x, with the bands. */
export function extentOf(lines: readonly Line[], range: readonly [number, number] | null, positive: boolean): [number, number] | null {
  let least = Infinity;
  let most = -Infinity;
  for (const { x, y, low, high, raw } of lines) {
    const [from, to] = range ? windowOf(x, range) : [0, x.length];
    const floor = low ?? raw ?? y;
    const roof = high ?? raw ?? y;
    for (let i = from; i < to; i++) {
      const under = positive && floor[i]! <= 0 ? y[i]! : floor[i]!;
      if (under < least && (!positive || under > 0)) least = under;
      if (roof[i]! > most && roof[i]! < Infinity) most = roof[i]!;
    }
  }
  return least <= most ? [least, most] : null;
}

/** First and last place that touch a range: one beyond each end, so that a line reaches the edges. */
export function windowOf(x: Float64Array, [first, last]: readonly [number, number]): [number, number] {
  return [Math.max(0, placeOf(x, first)), Math.min(x.length, placeOf(x, last) + 2)];
}
