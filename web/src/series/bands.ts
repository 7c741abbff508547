// Several seeds as one curve: its middle, and how far they are apart.

import { placeOf } from "./series";

export type Middle = "mean" | "median";
export type Spread = "range" | "quartiles";

export interface XY {
  x: Float64Array;
  y: Float64Array;
}

export interface Band extends XY {
  low: Float64Array;
  high: Float64Array;
}

const PLACES = 600;

/** On the places that all share, or on an even grid. A seed counts from its first point to its last, never beyond. */
export function bandOf(curves: readonly XY[], middle: Middle, spread: Spread): Band {
  const x = gridOf(curves);
  const y = new Float64Array(x.length);
  const low = new Float64Array(x.length);
  const high = new Float64Array(x.length);
  for (let i = 0; i < x.length; i++) {
    const values = curves.map((curve) => valueAt(curve, x[i]!)).filter((value) => Number.isFinite(value));
    values.sort((a, b) => a - b);
    y[i] = middle === "mean" ? values.reduce((sum, value) => sum + value, 0) / values.length : quantile(values, 0.5);
    [low[i], high[i]] = spread === "range" ? [quantile(values, 0), quantile(values, 1)] : [quantile(values, 0.25), quantile(values, 0.75)];
  }
  return { x, y, low, high };
}

function gridOf(curves: readonly XY[]): Float64Array {
  const [first] = curves;
  if (!first) return new Float64Array(0);
  const same = curves.every(({ x }) => x.length === first.x.length && x.every((value, i) => value === first.x[i]));
  if (same) return first.x;
  const from = Math.min(...curves.map(({ x }) => x[0] ?? Infinity));
  const to = Math.max(...curves.map(({ x }) => x[x.length - 1] ?? -Infinity));
  return Float64Array.from({ length: PLACES }, (_, i) => from + ((to - from) * i) / (PLACES - 1));
}

function valueAt({ x, y }: XY, at: number): number {
  const place = placeOf(x, at);
  if (place < 0 || (place === x.length - 1 && at > x[place]!)) return NaN;
  if (x[place] === at) return y[place]!;
  const share = (at - x[place]!) / (x[place + 1]! - x[place]!);
  return y[place]! + share * (y[place + 1]! - y[place]!);
}

/** Of ascending values, between the two nearest; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const place = (values.length - 1) * share;
  const below = values[Math.floor(place)];
  const above = values[Math.ceil(place)];
  return below === undefined || above === undefined ? NaN : below + (above - below) * (place % 1);
}
