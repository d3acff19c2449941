import { expect, it } from "vitest";

import { changesOf } from "./changes";

it("names what was added, removed and changed, and nothing else", () => {
  const before = { name: "a", searcher: { metric: "loss", max_trials: 4 }, labels: ["x"] };
  const after = { name: "a", searcher: { metric: "acc" }, labels: ["x", "y"], debug: true };
  expect(changesOf(before, after)).toEqual([
    { name: "searcher.metric", before: "loss", after: "acc" },
    { name: "labels", before: "[x]", after: "[x, y]" },
    { name: "debug", before: undefined, after: "true" },
    { name: "searcher.max_trials", before: "4", after: undefined },
  ]);
  expect(changesOf(before, before)).toEqual([]);
});
