import { describe, expect, it } from "vitest";

import { fullTime, lengthOf, methodOf, singleFrom, withMethod } from "./searcher";

const SINGLE = { name: "single", metric: "loss", smaller_is_better: true, max_length: { epochs: 5 } };

describe("withMethod", () => {
  it("makes a search of one run's searcher", () => {
    expect(withMethod(SINGLE, "random")).toEqual({ ...SINGLE, name: "random", max_trials: 16, max_concurrent_trials: 16 });
    expect(withMethod(SINGLE, "adaptive_asha", { metric: "batches", value: 900 })).toMatchObject({
      name: "adaptive_asha",
      mode: "standard",
      time_metric: "batches",
      max_time: 900,
    });
    expect(withMethod(SINGLE, "grid")).not.toHaveProperty("max_trials");
  });

  it("keeps what both methods have, and drops what the new one refuses", () => {
    const asha = { name: "adaptive_asha", metric: "loss", max_trials: 40, max_concurrent_trials: 4, divisor: 3, max_time: 9, time_metric: "epochs" };
    expect(withMethod(asha, "random")).toEqual({ name: "random", metric: "loss", max_trials: 40, max_concurrent_trials: 4 });
    expect(withMethod(asha, "adaptive_asha", { metric: "batches", value: 1 })).toMatchObject({ divisor: 3, max_time: 9, time_metric: "epochs" });
  });

  it("reads a section that is no map, or full of nulls", () => {
    expect(withMethod(7, "grid")).toEqual({ name: "grid", max_concurrent_trials: 16 });
    expect(withMethod({ metric: null }, "grid")).not.toHaveProperty("metric");
  });
});

it("a continuation starts from a run, or from a checkpoint", () => {
  const search = { name: "random", metric: "loss", max_trials: 4, source_trial_id: 3 };
  expect(singleFrom(search, { trialId: 7 })).toEqual({ name: "single", metric: "loss", source_trial_id: 7 });
  expect(singleFrom(search, { checkpoint: "u" })).toEqual({ name: "single", metric: "loss", source_checkpoint_uuid: "u" });
});

it("the full time is the searcher's, else the run's", () => {
  expect(fullTime({ time_metric: "epochs", max_time: 8, max_length: { batches: 5 } }, 3)).toEqual({ metric: "epochs", value: 8 });
  expect(fullTime(SINGLE, 3)).toEqual({ metric: "epochs", value: 5 });
  expect(fullTime({ name: "single" }, 300)).toEqual({ metric: "batches", value: 300 });
  expect(fullTime(undefined, 0)).toBeUndefined();
});

it("a length has a unit or none", () => {
  expect(lengthOf({ epochs: 5 })).toEqual({ unit: "epochs", text: "5" });
  expect(lengthOf(100)).toEqual({ unit: "", text: "100" });
  expect(lengthOf(undefined)).toEqual({ unit: "", text: "" });
  expect(methodOf(SINGLE)).toBeUndefined();
  expect(methodOf({ name: "grid" })).toBe("grid");
});
