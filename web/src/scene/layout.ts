/** Where each world stands on the stage: beside one another on a square, or all in the same place. */

export type Layout = "grid" | "overlay";

/** x and y of each of n worlds, the grid's middle at 0; rows run to the viewer's right. */
export function offsetsOf(n: number, layout: Layout, spacing: number, out = new Float32Array(2 * n)): Float32Array {
  if (layout === "overlay") return out.fill(0);
  const columns = Math.ceil(Math.sqrt(n));
  const rows = Math.ceil(n / columns);
  for (let i = 0; i < n; i++) {
    out[2 * i] = ((rows - 1) / 2 - Math.floor(i / columns)) * spacing;
    out[2 * i + 1] = ((columns - 1) / 2 - (i % columns)) * spacing;
  }
  return out;
}

/** Half the side of the square that n worlds fill. */
export function reachOf(n: number, layout: Layout, spacing: number): number {
  return layout === "overlay" ? 0 : ((Math.ceil(Math.sqrt(n)) - 1) / 2) * spacing;
}
