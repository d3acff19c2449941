import { describe, expect, it } from "vitest";

import { branchRefusal, continuedRuns, continueRefusal, continueWord, forkRefusal, overrideRefusal } from "./continuing";
import type { Experiment, Trial } from "./queries";
import { configWarnings, idempotencyKeys, slotWarnings } from "./submissions";

const experiment = (change: Partial<Experiment> = {}): Experiment => ({
  id: 1,
  state: "STATE_COMPLETED",
  searcherType: "single",
  userId: 5,
  ...change,
});
const trial = (change: Partial<Trial> = {}): Trial => ({ id: 9, state: "STATE_COMPLETED", checkpointCount: 1, ...change });

describe("continueRefusal", () => {
  it("lets an ended run continue", () => {
    expect(continueRefusal(experiment(), [trial()])).toBeUndefined();
    expect(continueRefusal(experiment({ state: "STATE_ERROR" }), [trial()])).toBeUndefined();
  });
  it("refuses what has not ended, has no trial, is detached, archived or deleted", () => {
    expect(continueRefusal(experiment({ state: "STATE_PAUSED" }), [trial()])).toMatch(/has ended/);
    expect(continueRefusal(experiment(), [])).toMatch(/no trial/);
    expect(continueRefusal(experiment({ unmanaged: true }), [trial()])).toMatch(/outside/);
    expect(continueRefusal(experiment({ parentArchived: true }), [trial()])).toMatch(/archived/);
    expect(continueRefusal(experiment({ state: "STATE_DELETED" }), [trial()])).toMatch(/deleted/);
  });
  it("continues a random or grid search with the runs that are not completed", () => {
    const runs = [trial(), trial({ state: "STATE_ERROR" })];
    expect(continueRefusal(experiment({ searcherType: "random" }), runs)).toBeUndefined();
    expect(continuedRuns(experiment({ searcherType: "random" }), runs)).toBe(1);
    expect(continueRefusal(experiment({ searcherType: "grid" }), [trial()])).toMatch(/completed/);
    expect(continueRefusal(experiment({ searcherType: "adaptive_asha" }), runs)).toMatch(/fork/);
  });
});

it("forks need a source of this cluster, branches a checkpoint", () => {
  expect(forkRefusal(experiment({ state: "STATE_RUNNING" }))).toBeUndefined();
  expect(forkRefusal(experiment({ unmanaged: true }))).toMatch(/script/);
  expect(branchRefusal(experiment(), trial())).toBeUndefined();
  expect(branchRefusal(experiment(), trial({ checkpointCount: 0 }))).toMatch(/no checkpoint/);
  expect(branchRefusal(experiment(), undefined)).toMatch(/no trial/);
});

it("only its owner changes the configuration of a run that continues", () => {
  expect(overrideRefusal(experiment(), 5)).toBeUndefined();
  expect(overrideRefusal(experiment(), 6)).toMatch(/token/);
  expect(overrideRefusal(experiment({ searcherType: "grid" }), 5)).toMatch(/as it is/);
  expect([continueWord(experiment({ state: "STATE_ERROR" })), continueWord(experiment())]).toEqual(["Retry", "Continue"]);
});

it("a request has one key, a changed one another", () => {
  const keyOf = idempotencyKeys();
  const first = keyOf({ text: "a: 1", parentId: 1, activate: true });
  expect(keyOf({ text: "a: 1", parentId: 1, activate: true })).toBe(first);
  expect(keyOf({ text: "a: 1", parentId: 1, activate: false })).not.toBe(first);
});

it("reads warnings of an answer", () => {
  expect(configWarnings('["<config>.searcher.max_length: has no effect"]')).toEqual(["searcher.max_length: has no effect"]);
  expect(configWarnings(null)).toEqual([]);
  expect(configWarnings("not json")).toEqual(["not json"]);
  expect(slotWarnings(["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"])).toHaveLength(1);
  expect(slotWarnings(undefined)).toEqual([]);
});
