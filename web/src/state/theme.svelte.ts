// Dark or light: as the system has it until somebody chooses.

import { recall, remember } from "./memory";

export type Theme = "system" | "dark" | "light";

const system = window.matchMedia("(prefers-color-scheme: light)");
let chosen = $state<Theme>(recall<Theme>("theme", "system"));
let systemIsLight = $state(system.matches);
system.addEventListener("change", (event) => (systemIsLight = event.matches));

export const theme = {
  get isLight(): boolean {
    return chosen === "system" ? systemIsLight : chosen === "light";
  },
  toggle(): void {
    chosen = theme.isLight ? "dark" : "light";
    remember("theme", chosen);
    show();
  },
};

export function show(): void {
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}
