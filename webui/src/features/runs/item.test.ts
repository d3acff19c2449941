import { describe, expect, it } from "vitest";

import { ACTIONS, refusal, requestOf } from "@/data/experiments/actions";

import { fromRun, fromSearch, valueOf } from "./item";
import { patched } from "./source";

const run = fromRun({
  id: 7,
  state: "STATE_RUNNING",
  hyperparameters: { lr: 0.1, net: { depth: 3 }, "a.b": "flat" },
  metadata: { tags: ["x"] },
  summaryMetrics: {
    validation_metrics: { "top.1": { last: "NaN", min: 0.2 }, name: { last: "text" } },
    custom: { loss: { mean: 4 } },
  },
  experiment: { id: 3, name: "mnist", isMultitrial: false },
});

describe("a row", () => {
  it.each([
    ["hp.lr", 0.1],
    ["hp.net.depth", 3],
    ["hp.a.b", "flat"],
    ["hp.none", undefined],
    ["metadata.tags", '["x"]'],
    ["validation.top.1.last", NaN],
    ["validation.top.1.min", 0.2],
    ["validation.name.last", "text"],
    ["custom.loss.mean", 4],
    ["training.loss.last", undefined],
    ["experimentName", "mnist"],
    ["hp.constructor", undefined],
  ])("has in the column %s the value %s", (column, value) => {
    expect(valueOf(run, column)).toEqual(value);
  });

  it("takes live changes", () => {
    const next = patched(run, { id: 7, experimentId: 3, state: "STATE_COMPLETED", searcherMetricValue: 0.5, validationMetrics: { "top.1": 0.9 } });
    expect([next.state, valueOf(next, "searcherMetricsVal"), valueOf(next, "validation.top.1.last")]).toEqual(["STATE_COMPLETED", 0.5, 0.9]);
    expect(valueOf(next, "validation.top.1.min")).toBe(0.2);
  });
});

describe("eligibility", () => {
  const eligible = (state: string, more: object = {}) =>
    ACTIONS.filter((action) => requestOf(action, "run") && !refusal(action, { ...run, state, ...more }, "run")).map(({ id }) => id);

  it("follows the state", () => {
    expect(eligible("STATE_RUNNING")).toEqual(["pause", "kill", "move"]);
    expect(eligible("STATE_PAUSED")).toEqual(["resume", "kill", "move"]);
    expect(eligible("STATE_ERROR")).toEqual(["archive", "move", "delete"]);
    expect(eligible("STATE_COMPLETED", { archived: true })).toEqual(["unarchive", "delete"]);
    expect(eligible("STATE_STOPPING_KILLED")).toEqual(["kill", "move"]);
  });

  it("leaves parts of a search and foreign-managed runs to their search", () => {
    expect(eligible("STATE_RUNNING", { isMultitrial: true })).toEqual(["kill"]);
    expect(eligible("STATE_RUNNING", { unmanaged: true })).toEqual(["move"]);
  });

  it("lets a search be stopped", () => {
    const search = fromSearch({ experiment: { id: 1, state: "STATE_ACTIVE", searcherType: "random" } });
    expect(ACTIONS.filter((action) => !refusal(action, search, "experiment")).map(({ id }) => id)).toEqual(["pause", "cancel", "kill", "move"]);
  });
});
