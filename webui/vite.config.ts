import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

// DET_MASTER is the master that `npm run dev` forwards requests to.
const master = process.env["DET_MASTER"] ?? "http://127.0.0.1:8080";

// Built files find each other relatively, so that a proxy may serve the master below a path. The
// master writes the path into the page.
const relative: Plugin = {
  name: "relative-addresses",
  config: (_, { command }) => ({ base: command === "build" ? "./" : "/det/" }),
};

/** Loads modules later: every file needs it, so that it is in the first group that takes it. */
const HELPER = "vite/preload-helper";

/** Modules by the places of packages and sources. */
const among = (packages: string, sources: string) =>
  new RegExp(`/node_modules/(${packages})/|/src/(${sources})[/.](?!.*(YamlField|\\.test\\.))|${HELPER}`);

/**
 * Modules that are used together are one file, so a page is a few requests; others are split by what
 * loads them. `npm run size` has the budgets.
 */
const GROUPS = [
  // What the sign-in needs, too.
  {
    name: "base",
    priority: 2,
    test: among(
      "react|react-dom|scheduler|@tanstack/(react-query|query-core)|openapi-fetch",
      "start|api|strings|data/(session|boot|keys|live|master|preferences|settings|queryClient|states|now|format)|ui/(later|nonce|base|tokens|button/Button|icons|text|feedback/(Feedback|toast)|state|field/Field|layout/useDocumentTitle|chart/plot/theme)|features/login/(LoginPage|target|emptyPassword|Logo|SignInForm|Login\\.module)",
    ),
  },
  // What opens, loaded when the page is drawn.
  {
    name: "overlay",
    priority: 0,
    test: among(
      "radix-ui|@radix-ui|@floating-ui|aria-hidden|react-remove-scroll|react-remove-scroll-bar|react-style-singleton|use-callback-ref|use-sidecar|get-nonce|tslib",
      "ui/overlay/(Menu|Popover|Dialog)Popup",
    ),
  },
  // What the charts of trials and of searches name and keep in the address.
  {
    name: "metrics",
    priority: 0,
    test: /\/src\/(data\/experiments\/(facts|metricNames)|features\/metrics\/useChartAddress)\.ts$/,
  },
  // The frame around every page, and lists.
  {
    name: "frame",
    priority: 1,
    test: among(
      "react-router|@tanstack/(react-virtual|virtual-core)",
      "features/shell/(Shell|SideBar|Bars|BottomBar|navigation)|features/launch/(NewExperimentButton|useLaunch)|ui/(button/ButtonLink|overlay/(Menu|Dialog|confirm|Popover|FormDialog|recentFocus)|layout|field|feedback/useAct|markdown/Markdown|table|query)|data/(permissions|workspaces|view|query)|features/runs/(?!routes)[A-Za-z]+|routes/prefetch",
    ),
  },
];

export default defineConfig({
  plugins: [react(), relative],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    target: "es2022",
    manifest: true,
    cssCodeSplit: true,
    chunkSizeWarningLimit: 700,
    // The master's content security policy allows no inline script, so modules are preloaded
    // without the inline polyfill.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rolldownOptions: { input: ["index.html", "login.html"], output: { codeSplitting: { groups: GROUPS } } },
  },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/proxy", "/stream", "/health", "/checkpoints", "/experiments", "/trials"].map(
        (path) => [path, { target: master, ws: true }],
      ),
    ),
  },
});
