/** An average that forgets: `weight` of 0 changes nothing, near 1 forgets slowly. Its beginning is not pulled towards zero. */
export function smoothed(values: Float64Array, weight: number): Float64Array {
  const out = new Float64Array(values.length);
  let sum = 0;
  let mass = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Number.isFinite(value)) {
      sum = sum * weight + value * (1 - weight);
      mass = mass * weight + (1 - weight);
    }
    out[i] = Number.isFinite(value) && mass > 0 ? sum / mass : value;
  }
  return out;
}
