import { describe, expect, it } from "vitest";

import { bestValue, idOf, metricNames } from "./metricNames";

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

describe("the best value of a metric", () => {
  const one = trial({
    validation_metrics: { loss: { min: 0.1, max: 0.9, last: 0.5 } },
    extra: { loss: { min: 3, max: "NaN" }, text: { last: "a" } },
  });
  it("is the lowest or the highest of its own group", () => {
    expect(bestValue(one, { group: "validation", name: "loss" }, true)).toBe(0.1);
    expect(bestValue(one, { group: "validation", name: "loss" }, false)).toBe(0.9);
    expect(bestValue(one, { group: "extra", name: "loss" }, true)).toBe(3);
  });

  it("is none where no number was reported", () => {
    expect(bestValue(one, { group: "extra", name: "text" }, true)).toBeUndefined();
    expect(bestValue(one, { group: "training", name: "loss" }, true)).toBeUndefined();
    expect(bestValue({ id: 2 }, { group: "training", name: "loss" }, true)).toBeUndefined();
  });
});
