/** A page to work on the 3D view without a server: `SCENES=folder npx vite -c dev/vite.config.ts`, then ?scene=NAME&n=16. */

import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  publicDir: process.env.SCENES,
  server: { fs: { allow: [".."] } },
});
