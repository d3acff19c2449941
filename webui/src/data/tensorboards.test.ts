import { describe, expect, it } from "vitest";

import { idsIn, sameSources } from "./tensorboards";

describe("sameSources", () => {
  const board = (id: string, change: object = {}) => ({
    id,
    state: "STATE_RUNNING" as const,
    experimentIds: [1, 2],
    trialIds: [],
    startTime: "2026-01-01T00:00:00Z",
    ...change,
  });
  const wanted = { experimentIds: [2, 1], trialIds: [] };

  it("is the newest that runs and shows the same", () => {
    const boards = [board("old"), board("new", { startTime: "2026-01-02T00:00:00Z" })];
    expect(sameSources(boards, wanted)?.id).toBe("new");
  });

  it("is none that ended, ends, or shows more or less", () => {
    expect(sameSources([board("a", { state: "STATE_TERMINATED" })], wanted)).toBeUndefined();
    expect(sameSources([board("a", { state: "STATE_TERMINATING" })], wanted)).toBeUndefined();
    expect(sameSources([board("a", { experimentIds: [1] })], wanted)).toBeUndefined();
    expect(sameSources([board("a", { trialIds: [4] })], wanted)).toBeUndefined();
  });
});

it("ids are typed in any way, and what is none is named", () => {
  expect(idsIn("3, 4 #5\n3")).toEqual({ ids: [3, 4, 5], wrong: [] });
  expect(idsIn("1 x -2 0 99999999999")).toEqual({ ids: [1], wrong: ["x", "-2", "0", "99999999999"] });
});
