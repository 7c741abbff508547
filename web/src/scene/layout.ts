/** Where each world stands on the stage: beside one another on a rectangle, or all in the same place. */

export type Layout = "grid" | "overlay";
/** From one world to the next along x and y, m. */
export type Gap = readonly [x: number, y: number];

/** x and y of each of n worlds, the rectangle's middle at 0. */
export function offsetsOf(n: number, layout: Layout, [gapX, gapY]: Gap): Float32Array {
  const out = new Float32Array(2 * n);
  if (layout === "overlay") return out;
  const columns = columnsOf(n, gapY / gapX);
  const rows = Math.ceil(n / columns);
  for (let i = 0; i < n; i++) {
    out[2 * i] = ((rows - 1) / 2 - Math.floor(i / columns)) * gapX;
    out[2 * i + 1] = ((columns - 1) / 2 - (i % columns)) * gapY;
  }
  return out;
}

/** How many stand along y, so that the whole is about as wide as deep. */
function columnsOf(n: number, slimness: number): number {
  return Math.min(n, Math.max(1, Math.ceil(Math.sqrt(n / slimness) - 1e-9)));
}
