// Scalars in the order in which people look for them.

import { byKey } from "../grouping";

export interface NameGroup {
  name: string;
  title: string;
  names: string[];
}

const FIRST = ["evaluation", "episode", "reward", "learn", "ended", "curriculum", "engine"];
const TITLES: Record<string, string> = {
  evaluation: "Evaluation",
  episode: "Episodes",
  reward: "Reward terms",
  learn: "Learning",
  ended: "Why episodes ended",
  "": "Machine",
};

/** By what stands before the first slash. */
export function grouped(names: Iterable<string>, search = ""): NameGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...names].filter((name) => words.every((word) => name.toLowerCase().includes(word))).sort();
  const groups = byKey(found, (name) => (name.includes("/") ? name.slice(0, name.indexOf("/")) : ""));
  const rank = (name: string) => (name === "" ? FIRST.length + 1 : FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  return [...groups.entries()]
    .sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b))
    .map(([name, members]) => ({ name, title: TITLES[name] ?? name, names: members }));
}
