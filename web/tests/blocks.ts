// Answers of the server, made byte by byte as the protocol says.

import type { SeriesBlock } from "../src/generated/messages";

export interface Made {
  head: SeriesBlock;
  columns: Float64Array[];
}

/** One value a step, from step 0 on. */
export function block(name: string, values: number[], change: Partial<SeriesBlock> = {}): Made {
  const n = values.length;
  const columns = ["step", "time", "mean", "min", "max", "count"];
  const steps = Float64Array.from({ length: n }, (_, i) => i);
  const mean = Float64Array.from(values);
  return {
    head: { run: "r", name, columns, n, total: n, whole: true, first_time: 100, error: "", ...change },
    columns: [steps, steps.map((step) => 100 + step), mean, mean, mean, new Float64Array(n).fill(1)],
  };
}

export function answer(blocks: Made[]): ArrayBuffer {
  let head = JSON.stringify({ series: blocks.map((made) => made.head) });
  head = head.padEnd(Math.ceil((8 + head.length) / 8) * 8 - 8);
  const columns = blocks.flatMap((made) => made.columns);
  const buffer = new ArrayBuffer(8 + head.length + columns.reduce((sum, column) => sum + column.byteLength, 0));
  new Uint8Array(buffer).set(new TextEncoder().encode("PDKS"));
  new DataView(buffer).setUint32(4, head.length, true);
  new Uint8Array(buffer).set(new TextEncoder().encode(head), 8);
  let at = 8 + head.length;
  for (const column of columns) {
    new Float64Array(buffer, at, column.length).set(column);
    at += column.byteLength;
  }
  return buffer;
}
