// The binary answer that carries curves: `PDKS`, the length of a JSON head, the head, then float64 columns.

import type { SeriesBlock, SeriesHead } from "../generated/messages";

/** One series: what the head says of it, and its columns by name. They share the memory of the answer. */
export interface Block {
  head: SeriesBlock;
  columns: Record<string, Float64Array>;
}

export function decodeSeries(buffer: ArrayBuffer): Block[] {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || String.fromCharCode(...new Uint8Array(buffer, 0, 4)) !== "PDKS")
    throw new Error("The server sent no curves. Load the page again: it may be of another version.");
  const length = view.getUint32(4, true);
  const { series } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length))) as SeriesHead;
  let offset = 8 + length;
  return series.map((head) => {
    const columns: Record<string, Float64Array> = {};
    for (const name of head.columns) {
      columns[name] = new Float64Array(buffer, offset, head.n);
      offset += head.n * 8;
    }
    return { head, columns };
  });
}
