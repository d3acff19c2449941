import { describe, expect, it } from "vitest";

import { openDraft } from "../configs/draft";
import { continuationStart, forkStart, runtimeStart, searchStart } from "./drafts";
import type { Experiment, Trial } from "./queries";

const EXPERIMENT: Experiment = {
  id: 12,
  workspaceName: "vision",
  projectName: "base",
  config: {
    bind_mounts: [],
    data: { path: "/d", note: null, secrets: { key: "********" } },
    description: null,
    entrypoint: "python train.py",
    environment: { image: { cpu: "i" }, registry_auth: { username: "u", password: "********" }, pod_spec: null },
    hyperparameters: { lr: { type: "const", val: 0.1 }, free: { type: "const", val: null } },
    name: "mnist",
    optimizations: {},
    searcher: { name: "single", metric: "loss", smaller_is_better: true, source_trial_id: null },
    workspace: "old",
    project: "old",
  },
};
const TRIAL: Trial = { id: 40, hparams: { lr: 0.3, opt: { name: "adam" } }, totalBatchesProcessed: 900 };

const read = (text: string) => openDraft(text).value;

describe("the configuration that a fork starts from", () => {
  const start = forkStart(EXPERIMENT);

  it("is the source's, where it is now, without nulls", () => {
    expect(read(start.text)).toEqual({
      name: "Fork of mnist",
      workspace: "vision",
      project: "base",
      entrypoint: "python train.py",
      searcher: { name: "single", metric: "loss", smaller_is_better: true },
      hyperparameters: { lr: 0.1, free: null },
      bind_mounts: [],
      data: { path: "/d", note: null },
      environment: { image: { cpu: "i" } },
    });
    expect(start.text.startsWith("name:")).toBe(true);
  });

  it("has no secret, and names what it left out", () => {
    expect(start.hidden).toEqual(["data.secrets.key", "environment.registry_auth"]);
    expect(start.text).not.toContain("***");
  });

  it("is not a fork of a fork by name", () => {
    const again = forkStart({ ...EXPERIMENT, config: { ...EXPERIMENT.config, name: "Fork of mnist" } });
    expect(read(again.text)["name"]).toBe("Fork of mnist");
    expect(read(runtimeStart(EXPERIMENT).text)["name"]).toBe("mnist");
  });
});

it("a continuation has the values of the run and starts from it", () => {
  const config = read(continuationStart(EXPERIMENT, TRIAL).text);
  expect(config["searcher"]).toEqual({ name: "single", metric: "loss", smaller_is_better: true, source_trial_id: 40 });
  expect(config["hyperparameters"]).toEqual({ lr: 0.3, opt: { name: "adam" } });
  const chosen = read(continuationStart(EXPERIMENT, TRIAL, "u-1").text);
  expect(chosen["searcher"]).toMatchObject({ source_checkpoint_uuid: "u-1" });
});

it("a search is adaptive over what the run has trained", () => {
  expect(read(searchStart(EXPERIMENT, TRIAL).text)["searcher"]).toEqual({
    name: "adaptive_asha",
    metric: "loss",
    smaller_is_better: true,
    max_trials: 16,
    max_concurrent_trials: 16,
    mode: "standard",
    time_metric: "batches",
    max_time: 900,
  });
});

it("a search again keeps its method and its ranges", () => {
  const search = { ...EXPERIMENT, config: { name: "s", searcher: { name: "grid", metric: "loss" }, hyperparameters: { lr: { type: "int", minval: 1, maxval: 3, count: 3 } } } };
  const config = read(searchStart(search, undefined).text);
  expect(config["searcher"]).toMatchObject({ name: "grid" });
  expect(config["hyperparameters"]).toEqual(search.config.hyperparameters);
});
