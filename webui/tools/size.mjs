/**
 * The compressed sizes of a build against their budgets: `npm run build && npm run size`. An
 * argument names the directory of another build.
 *
 * The exit status is 1 where a budget is exceeded. One kB is 1,000 bytes of gzip at level 9.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

import { isOver, measure, report } from "./budget.mjs";

const KB = 1000;

const PLAN = {
  entry: "index.html",
  login: "login.html",
  shell: "src/features/shell/Shell.tsx",
  firstList: "src/features/projects/ProjectPage.tsx",
  parts: [
    { name: "JS: chart", module: "src/ui/chart/plot/Plot.tsx", base: ["src/features/experiments/tabs/MetricsTab.tsx"], limit: 31 * KB },
    { name: "JS: HP charts", module: "src/features/experiments/tabs/VisualizationTab.tsx", limit: 45 * KB },
    { name: "JS: terminal", module: "src/ui/terminal/Screen.tsx", base: ["src/features/tasks/TaskPage.tsx"], limit: 90 * KB },
    { name: "JS: editor", module: "src/ui/editor/Editing.tsx", limit: 190 * KB },
  ],
  limits: { login: 110 * KB, firstList: 220 * KB, route: 55 * KB, allJs: 900 * KB, css: 25 * KB, files: 12 },
};

const dist = process.argv[2] ? pathToFileURL(`${process.argv[2]}/`) : new URL("../dist/", import.meta.url);
let manifest;
try {
  manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", dist), "utf8"));
} catch (error) {
  console.error(`${fileURLToPath(dist)} has no build: run npm run build first (${error.message})`);
  process.exit(1);
}
const sizes = new Map();
const sizeOf = (file) => {
  if (!sizes.has(file)) sizes.set(file, gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length);
  return sizes.get(file);
};
const lines = measure(manifest, sizeOf, PLAN);
console.log(report(lines));
process.exitCode = lines.some(isOver) ? 1 : 0;
