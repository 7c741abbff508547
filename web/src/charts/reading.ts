import { placeOf } from "../series/series";
import type { Line } from "./lines";

export interface Reading {
  label: string;
  colour: string;
  value: number;
  /** Before it was smoothed; null where it was not. */
  raw: number | null;
  low: number | null;
  high: number | null;
}

/** What every line says at a place of x: its nearest point. */
export function readAt(lines: readonly Line[], x: number): Reading[] {
  return lines.flatMap((line) => {
    const { label, colour, y, low, high } = line;
    if (line.x.length === 0) return [];
    let place = Math.max(0, placeOf(line.x, x));
    if (place + 1 < line.x.length && line.x[place + 1]! - x < x - line.x[place]!) place++;
    return [{ label, colour, value: y[place]!, low: low?.[place] ?? null, raw: line.raw?.[place] ?? null, high: high?.[place] ?? null }];
  });
}
