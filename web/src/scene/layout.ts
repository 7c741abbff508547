/** Where each world stands on the stage: beside one another on a rectangle, or all in the same place. */

export type Layout = "grid" | "overlay";

/** x and y of each of n worlds, the grid's middle at 0; rows run to the viewer's right. */
export function offsetsOf(n: number, layout: Layout, spacing: number, out = new Float32Array(2 * n)): Float32Array {
  if (layout === "overlay") return out.fill(0);
  const [rows, columns] = shapeOf(n);
  for (let i = 0; i < n; i++) {
    out[2 * i] = ((rows - 1) / 2 - Math.floor(i / columns)) * spacing;
    out[2 * i + 1] = ((columns - 1) / 2 - (i % columns)) * spacing;
  }
  return out;
}

/** Rows and columns: wider than deep, as pictures are. */
function shapeOf(n: number): [number, number] {
  const columns = n < 4 ? n : Math.ceil(Math.sqrt(n));
  return [Math.ceil(n / columns), columns];
}
