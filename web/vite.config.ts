import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

import { licences } from "./licences.js";

/** Relative URLs everywhere, so that the pages work under any path; nothing inline, so that the strictest policy lets them run. */
export default defineConfig({
  base: "./",
  plugins: [svelte(), licences("licences.txt")],
  build: {
    outDir: "../src/paddock/cockpit/client",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
});
