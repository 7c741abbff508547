// Lines onto a canvas. However many points fall onto one column of pixels, the column shows its lowest and its highest.

import { type Line, windowOf } from "./lines";

/** From values to pixels. */
export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
  x: readonly [number, number];
  y: readonly [number, number];
  logX: boolean;
  logY: boolean;
}

/** More lines than this are hairlines without bands: bands would add up to black, and a hairline is drawn 15 times as fast. */
const MANY = 16;
const HAIR = 1;

type Map1 = (value: number) => number;

interface Pen {
  ctx: CanvasRenderingContext2D;
  toX: Map1;
  toY: Map1;
  thickness: number;
  bands: boolean;
}

function scale(from: number, length: number, [low, high]: readonly [number, number], log: boolean): Map1 {
  if (!log) {
    const slope = length / (high - low);
    return (value) => from + (value - low) * slope;
  }
  const base = Math.log10(low);
  const slope = length / (Math.log10(high) - base);
  return (value) => (value > 0 ? from + (Math.log10(value) - base) * slope : NaN);
}

export function drawLines(ctx: CanvasRenderingContext2D, lines: readonly Line[], frame: Frame, thickness: number): void {
  const toX = scale(frame.left, frame.width, frame.x, frame.logX);
  const toY = scale(frame.top + frame.height, -frame.height, frame.y, frame.logY);
  ctx.save();
  ctx.beginPath();
  ctx.rect(frame.left, frame.top, frame.width, frame.height);
  ctx.clip();
  const many = lines.length > MANY;
  ctx.lineJoin = many ? "bevel" : "round";
  const pen: Pen = { ctx, toX, toY, thickness: many ? HAIR : thickness, bands: !many };
  for (const line of lines) drawLine(pen, line, frame.x);
  ctx.restore();
}

function drawLine({ ctx, toX, toY, thickness, bands }: Pen, line: Line, range: readonly [number, number]): void {
  const [from, to] = windowOf(line.x, range);
  ctx.strokeStyle = ctx.fillStyle = line.colour;
  if (bands && line.low && line.high) {
    ctx.globalAlpha = 0.2;
    ctx.fill(envelope(line.x, line.low, line.high, from, to, toX, toY));
  }
  if (bands && line.raw) {
    ctx.globalAlpha = 0.28;
    ctx.lineWidth = thickness * 0.7;
    ctx.stroke(trace(line.x, line.raw, from, to, toX, toY));
  }
  ctx.globalAlpha = 1;
  ctx.lineWidth = thickness;
  ctx.stroke(trace(line.x, line.y, from, to, toX, toY));
  if (line.x.length > 2) return;
  for (let i = from; i < to; i++) {
    ctx.beginPath(); // a value that stands alone would be a line without length
    ctx.arc(toX(line.x[i]!), toY(line.y[i]!), thickness * 1.6, 0, 2 * Math.PI);
    ctx.fill();
  }
}

/**
 * A line. Points of one column of pixels become a stroke from the lowest to the highest between the first and the last.
 * Exported for the test that no point is lost.
 */
export function trace(xs: Float64Array, ys: Float64Array, from: number, to: number, toX: Map1, toY: Map1): Path2D {
  const path = new Path2D();
  let open = false;
  let column = NaN;
  let last = 0;
  let least = 0;
  let most = 0;
  for (let i = from; i < to; i++) {
    const x = toX(xs[i]!);
    const y = toY(ys[i]!);
    if (Number.isNaN(x) || !Number.isFinite(y)) {
      open = false;
      column = NaN;
      continue;
    }
    if (x - column < 1 && open) {
      if (y < least) least = y;
      if (y > most) most = y;
      last = y;
      const next = i + 1 < to ? toX(xs[i + 1]!) : Infinity;
      if (!(next - column < 1)) {
        path.lineTo(column, least);
        path.lineTo(column, most);
        path.lineTo(column, last);
      }
      continue;
    }
    if (open) path.lineTo(x, y);
    else path.moveTo(x, y);
    open = true;
    column = x;
    least = most = y;
  }
  return path;
}

/** The area between lowest and highest, a column of pixels at a time. */
function envelope(xs: Float64Array, lows: Float64Array, highs: Float64Array, from: number, to: number, toX: Map1, toY: Map1): Path2D {
  const path = new Path2D();
  const back: number[] = [];
  for (let i = from; i < to; ) {
    const x = toX(xs[i]!);
    let low = lows[i]!;
    let high = highs[i]!;
    for (i++; i < to && toX(xs[i]!) - x < 1; i++) {
      if (lows[i]! < low) low = lows[i]!;
      if (highs[i]! > high) high = highs[i]!;
    }
    const roof = toY(high);
    const floor = toY(low);
    if (Number.isNaN(x) || !Number.isFinite(roof) || !Number.isFinite(floor)) continue;
    if (back.length === 0) path.moveTo(x, roof);
    else path.lineTo(x, roof);
    back.push(x, floor);
  }
  for (let i = back.length - 2; i >= 0; i -= 2) path.lineTo(back[i]!, back[i + 1]!);
  path.closePath();
  return path;
}
