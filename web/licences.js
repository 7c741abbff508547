// A Vite plugin: the licences of every package whose code went into the bundle, in one file beside it.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** @param {string} fileName */
export function licences(fileName) {
  return {
    name: "licences",
    /** @this {import("vite").Rollup.PluginContext} */
    generateBundle() {
      const roots = new Set([...this.getModuleIds()].map(packageOf).filter((root) => root !== null));
      const texts = [...roots].sort().map(licenceOf);
      this.emitFile({ type: "asset", fileName, source: texts.join(`\n${"-".repeat(100)}\n\n`) });
    },
  };
}

/** The folder of the package that a module belongs to; null for our own code. */
function packageOf(/** @type {string} */ id) {
  if (!id.includes("/node_modules/")) return null;
  let folder = dirname(id.split("?")[0].replace(/^\0/, ""));
  while (!existsSync(join(folder, "package.json")) || !JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version)
    folder = dirname(folder);
  return folder;
}

function licenceOf(/** @type {string} */ root) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const file = readdirSync(root).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} ${version} has no licence file in ${root}; look at it before bundling it.`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(root, file), "utf8").trim()}\n`;
}
