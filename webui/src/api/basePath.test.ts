import { expect, it } from "vitest";

import { basePath } from "./basePath";

it("is the path before the addresses of the web UI", () => {
  expect(basePath("/det/models", "/det/assets/index-1.js")).toBe("");
  expect(basePath("/ml/det/det/models", "/ml/det/det/assets/index-1.js")).toBe("/ml/det");
  expect(basePath("/det/models/det/x", undefined)).toBe("");
  expect(basePath("/ml/det/models", "/src/main.tsx")).toBe("/ml");
});
