import { describe, expect, it } from "vitest";

import { outsideTarget, safeTarget } from "./target";

describe("the target of a sign-in", () => {
  it("is a page of the web UI, also below a prefix", () => {
    expect(safeTarget("/det/experiments/1?x=y#z", "")).toBe("/experiments/1?x=y#z");
    expect(safeTarget("/ml/det/det/models", "/ml/det")).toBe("/models");
    expect(safeTarget("/det/models", "/ml")).toBe("/models");
    expect(safeTarget("/details", "")).toBe("/details");
  });

  it("is the home page where it leads elsewhere, or back to the sign-in", () => {
    for (const redirect of [null, "", "https://evil.example", "//evil.example", "/\\evil.example", "/det", "/det/login?x=1"])
      expect(safeTarget(redirect, "")).toBe("/dashboard");
  });

  it("is the page of a task, which the master serves itself", () => {
    expect(outsideTarget("/proxy/t-1/lab?a=b", "")).toBe("/proxy/t-1/lab?a=b");
    expect(outsideTarget("/ml/proxy/t-1/", "/ml")).toBe("/ml/proxy/t-1/");
    expect(outsideTarget("/proxy/t-1/", "/ml")).toBe("/ml/proxy/t-1/");
    expect([outsideTarget("//proxy/x", ""), outsideTarget("/det/proxy", ""), outsideTarget(null, "")]).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    null,
    "",
    "/",
    "/det",
    "/det/",
    "//evil.example/",
    "/\\evil.example/",
    "/\t/evil.example/",
    "/det//evil.example/",
    "/det/\\evil.example/",
    "/det/..//evil.example/",
    "https://evil.example/",
    "javascript:alert(1)",
    "/det/login?redirect=/det/login",
    "/logout",
    "//[",
  ])("%s leads home", (redirect) => expect(safeTarget(redirect, "")).toBe("/dashboard"));
});
