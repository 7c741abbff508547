/** Which worlds to watch: the first few, or numbers as a person types them. */

export const COUNTS = [1, 4, 16, 64, 256] as const;
/** Worlds a view carries. */
export const MOST = 256;

export function firstWorlds(count: number, known: number): number[] {
  return Array.from({ length: Math.max(1, Math.min(count, known, MOST)) }, (_, i) => i);
}

/** "3, 7, 10-12" as numbers, each once; an Error says what is wrong with it. */
export function parseWorlds(text: string, known: number): number[] {
  const worlds = new Set<number>();
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (range === null) throw new Error(`'${part}' is no world. Type numbers such as 0, 5, 8-12.`);
    const first = Number(range[1]);
    const last = Number(range[2] ?? first);
    if (Math.max(first, last) >= known) throw new Error(`There are worlds 0 to ${known - 1}; '${part}' is none of them.`);
    for (let world = Math.min(first, last); world <= Math.max(first, last); world++) worlds.add(world);
  }
  if (worlds.size === 0) throw new Error("Type at least one number.");
  if (worlds.size > MOST) throw new Error(`These are ${worlds.size} worlds; a view shows up to ${MOST}.`);
  return [...worlds].sort((a, b) => a - b);
}
