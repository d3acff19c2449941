import { mergeConfig } from "vite";
import { defineConfig } from "vitest/config";

import base from "./vite.config";

export default mergeConfig(
  base,
  defineConfig({
    test: {
      environment: "jsdom",
      include: ["src/**/*.test.{ts,tsx}", "tools/**/*.test.mjs"],
      // A jsdom for each file takes ten times as long as all tests in one.
      isolate: false,
    },
  }),
);
