/** Where a logarithmic axis has lines: at powers of ten, with 2 and 5 between where there are few, with all where there are fewer. */
export function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const parts = decades > 2.5 ? [1] : decades > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const every = Math.max(1, Math.round(decades / 6));
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    if (power % every !== 0) continue;
    for (const part of parts) {
      const tick = Number(`${part}e${power}`);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks.length > 0 ? ticks : [low, high];
}
