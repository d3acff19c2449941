// @vitest-environment node
import { readFileSync } from "node:fs";

import { expect, it } from "vitest";

import { ignored, isCovered, ruleOf } from "./ignored";

const CASES = JSON.parse(
  readFileSync(new URL("../../../../tests/data/ignore_patterns.json", import.meta.url), "utf8"),
) as [pattern: string, path: string, covered: boolean][];

it("a pattern covers what it covers for det", () => {
  for (const [pattern, path, covered] of CASES)
    expect([pattern, path, isCovered(ruleOf(pattern), path, false)]).toEqual([pattern, path, covered]);
});

it("the last rule that matches decides", () => {
  const isIgnored = ignored("*.log\n!keep.log\nbuild/\n");
  expect(isIgnored("a/b.log")).toBe(true);
  expect(isIgnored("a/keep.log")).toBe(false);
  expect(isIgnored("build")).toBe(false);
  expect(isIgnored("build/deep/x.py")).toBe(true);
});

it("byte code, version control and the file itself are never sent", () => {
  const isIgnored = ignored("");
  expect(["a/__pycache__/x.pyc", ".git/HEAD", ".detignore", "train.py", "a/.detignore"].filter(isIgnored)).toEqual([
    "a/__pycache__/x.pyc",
    ".git/HEAD",
    ".detignore",
  ]);
});
