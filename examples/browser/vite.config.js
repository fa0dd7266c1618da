import { resolve } from "node:path";
import { defineConfig } from "vite";

const page = (name) => resolve(import.meta.dirname, name);

export default defineConfig({
  // Relative addresses: the built page may be served from any folder.
  base: "./",
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    // The WebAssembly file of onnxruntime-web is one file of its own, not text within a script.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: { input: [page("index.html"), page("check.html")] },
  },
});
