/** A few seconds of some numbers as thin lines on a small canvas. */

import { KEPT, type Ring } from "./history";

/** Lines drawn of one name at most; more would be a blot. */
export const MOST_LINES = 24;

/** Draws a ring, newest at the right; returns the range it covers. */
export function drawTrace(canvas: HTMLCanvasElement, ring: Ring, colours: readonly string[], faint: string): [number, number] {
  const scale = Math.min(2, window.devicePixelRatio);
  const width = Math.round(canvas.clientWidth * scale), height = Math.round(canvas.clientHeight * scale);
  if (canvas.width !== width || canvas.height !== height) (canvas.width = width), (canvas.height = height);
  const ctx = canvas.getContext("2d")!;
  ctx.clearRect(0, 0, width, height);
  const [low, high] = rangeOf(ring);
  const span = high - low || 1;
  const y = (value: number) => height - 2 - ((value - low) / span) * (height - 4);
  if (low < 0 && high > 0) {
    ctx.fillStyle = faint;
    ctx.fillRect(0, Math.round(y(0)), width, 1);
  }
  ctx.lineWidth = scale;
  const columns = Math.min(ring.width, MOST_LINES);
  for (let column = 0; column < columns; column++) {
    ctx.strokeStyle = colours[column % colours.length]!;
    ctx.beginPath();
    for (let back = ring.length - 1; back >= 0; back--) {
      const x = width * (1 - back / (KEPT - 1));
      const value = ring.at(back, column);
      if (back === ring.length - 1) ctx.moveTo(x, y(value));
      else ctx.lineTo(x, y(value));
    }
    ctx.stroke();
  }
  return [low, high];
}

function rangeOf(ring: Ring): [number, number] {
  let low = Infinity, high = -Infinity;
  const filled = ring.length * ring.width;
  for (let i = 0; i < filled; i++) {
    const value = ring.values[i]!;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 0];
}
