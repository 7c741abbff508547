// Colours of lines, told apart on dark and on light, and the theme's as a canvas takes them.

const DARK = ["#4bd9a7", "#74b6ff", "#f4b650", "#ff7b9c", "#bda6ff", "#8fdd5f", "#ff8f5a", "#4fd6e6", "#e58be8", "#c9c08a"];
const LIGHT = ["#0a7f5b", "#1f5fb8", "#b06a00", "#c42a58", "#6a46cc", "#4c8a12", "#c04a12", "#0e7f93", "#a02aa6", "#776a24"];
/** When the colours are used up they come again, in per cent towards the ink (above 0) or towards the ground (below). */
const SHADES = [0, 30, -35, 48];

export function lineColour(place: number, isLight: boolean): string {
  const colours = isLight ? LIGHT : DARK;
  const colour = colours[place % colours.length]!;
  const shade = SHADES[Math.floor(place / colours.length) % SHADES.length]!;
  if (shade === 0) return colour;
  const towards = shade > 0 === isLight ? "black" : "white";
  return `color-mix(in oklab, ${colour}, ${towards} ${Math.abs(shade)}%)`;
}

/** A custom property as a plain colour. */
export function themeColour(name: string, near: HTMLElement): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  near.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
