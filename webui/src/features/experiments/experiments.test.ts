import { describe, expect, it } from "vitest";

import type { LogLine } from "@/data/logs/types";

import { newest } from "./useLastLines";
import { searchMetric } from "./tabs/searchMetric";
import { byValue, spansOf } from "./tabs/VisualizationTab";

describe("the last line of a log", () => {
  it("is the last one that says something", () => {
    const line = (id: string, text: string) => ({ id, text, time: undefined, level: undefined, rank: undefined });
    const last = (...lines: LogLine[]) => newest(lines, 1).map(({ id }) => id);
    expect(last(line("1", "loss 0.5"), line("2", " \n"))).toEqual(["1"]);
    expect(last(line("1", ""), line("2", ""))).toEqual(["2"]);
    expect(last()).toEqual([]);
  });
});

describe("the timeline", () => {
  it("has the trials that have started, open ones without an end", () => {
    const startTime = "2026-01-01T00:00:00Z";
    const endTime = "2026-01-01T00:01:00Z";
    const start = Date.parse(startTime);
    const spans = spansOf([
      { id: 1, state: "STATE_COMPLETED", startTime, endTime },
      { id: 2, state: "STATE_RUNNING", startTime },
      { id: 3, state: "STATE_QUEUED" },
    ]);
    expect(spans.map((span) => [span.id, span.start, span.end])).toEqual([["1", start, start + 60_000], ["2", start, undefined]]);
  });
});

describe("runs beside the parallel coordinates", () => {
  it("stand in the order of the metric, those without one last", () => {
    const run = (id: string, metric: number | undefined) => ({ id, label: id, hparams: {}, metric });
    const runs = [run("1", undefined), run("2", 3), run("3", 1), run("4", NaN)];
    expect(byValue(runs, true).map(({ id }) => id)).toEqual(["3", "2", "1", "4"]);
    expect(byValue(runs, false).map(({ id }) => id)).toEqual(["2", "3", "1", "4"]);
  });
});

describe("the metric of a search's charts", () => {
  const experiment = { searcherMetric: "loss", config: { searcher: { smaller_is_better: true } } };
  const trials = [{ id: 1, summaryMetrics: { avg_metrics: { "a.b": {} }, validation_metrics: { acc: {} } } }];
  const of = (address: string) => searchMetric(experiment as never, trials as never, new URLSearchParams(address));

  it("is the searcher's, also before a trial has reported it", () => {
    expect(of("")).toMatchObject({ metric: { group: "validation", name: "loss" }, smallerIsBetter: true });
    expect(of("metric=training.gone").metric.name).toBe("loss");
    expect(of("").choices.map(({ name }) => name)).toEqual(["loss", "a.b", "acc"]);
  });

  it("is that of the address, with its direction", () => {
    expect(of("metric=training.a.b&best=highest")).toMatchObject({ metric: { group: "training", name: "a.b" }, smallerIsBetter: false });
  });

  it("is the first that was reported where the searcher has none", () => {
    const none = searchMetric({ config: {} } as never, trials as never, new URLSearchParams());
    expect(none.metric).toEqual({ group: "training", name: "a.b" });
    expect(none.choices).toHaveLength(2);
  });
});
