import { describe, expect, it } from "vitest";

import { idOf, metricNames } from "./metricNames";

const trial = (summaryMetrics: Record<string, unknown>) => ({ id: 1, summaryMetrics });

describe("the metrics of trials", () => {
  it("are those of all trials, the searcher's first", () => {
    const names = metricNames(
      [
        trial({ avg_metrics: { loss: { type: "number" } } }),
        trial({ validation_metrics: { acc: { type: "number" }, loss: { type: "number" } } }),
      ],
      "loss",
    );
    expect(names.map(idOf)).toEqual(["validation.loss", "training.loss", "validation.acc"]);
  });

  it("leave out what is no number", () => {
    expect(metricNames([trial({ inference: { label: { type: "string" }, n: {} } })]).map(idOf)).toEqual([
      "inference.n",
    ]);
  });
});
