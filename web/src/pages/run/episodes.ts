// Episodes as rows with names.

import type { EpisodeRow } from "../../generated/messages";

export interface Episode {
  id: number;
  step: number;
  world: number;
  episode: number;
  length: number;
  total: number | null;
  success: boolean | null;
  cause: string;
  terms: (number | null)[];
}

export function episodeOf([id, step, world, episode, length, total, success, cause, terms]: EpisodeRow): Episode {
  return { id, step, world, episode, length, total, success, cause, terms };
}

/** Both, each once, in the order in which they ended; the newest `most` of them. */
export function merged(known: readonly Episode[], fresh: readonly Episode[], most: number): Episode[] {
  const last = known.at(-1)?.id ?? -1;
  const later = fresh.filter(({ id }) => id > last);
  return later.length === 0 ? [...known] : [...known, ...later].slice(-most);
}

/** The env steps that an episode's recorded steps lie between: every world takes one step in turn. */
export function stepsOf({ step, length }: Episode, numWorlds: number): [number, number] {
  return [Math.max(0, step - length * numWorlds + 1), step];
}
