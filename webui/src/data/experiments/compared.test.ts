import { describe, expect, it } from "vitest";

import { briefly } from "./compared";

describe("a run of the list as one of a comparison", () => {
  it("has what charts need", () => {
    const summaryMetrics = { validation_metrics: { loss: { type: "number" } } };
    const { trial, experiment } = briefly({
      id: 7,
      state: "STATE_RUNNING",
      summaryMetrics,
      hyperparameters: { lr: 0.1 },
      projectId: 3,
      experiment: { id: 5, name: "sweep", searcherMetric: "loss" },
    } as unknown as Parameters<typeof briefly>[0]);
    expect(trial).toMatchObject({ id: 7, experimentId: 5, state: "STATE_RUNNING", summaryMetrics, hparams: { lr: 0.1 } });
    expect(experiment).toMatchObject({ id: 5, name: "sweep", searcherMetric: "loss", projectId: 3 });
  });
});
