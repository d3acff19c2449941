/** The metrics that trials have reported, from the summaries that come with them. */
import { wireNumber } from "../format/numbers";
import type { MetricId } from "../series/types";
import type { Trial } from "./queries";

const GROUPS: Record<string, string> = {
  avg_metrics: "training",
  validation_metrics: "validation",
};

/** Metrics with numbers, by group and name; the searcher's metric first. */
export function metricNames(trials: readonly Trial[], searcherMetric?: string): MetricId[] {
  const seen = new Map<string, MetricId>();
  for (const trial of trials)
    for (const [key, metrics] of Object.entries(trial.summaryMetrics ?? {})) {
      const group = GROUPS[key] ?? key;
      for (const [name, summary] of Object.entries((metrics ?? {}) as Record<string, unknown>)) {
        const { type } = (summary ?? {}) as { type?: string };
        if (type === undefined || type === "number") seen.set(idOf({ group, name }), { group, name });
      }
    }
  const isFirst = (each: MetricId) => each.group === "validation" && each.name === searcherMetric;
  return [...seen.values()].sort(
    (a, b) => Number(isFirst(b)) - Number(isFirst(a)) || idOf(a).localeCompare(idOf(b)),
  );
}

/** `validation.loss`, the id of a chart. */
export function idOf({ group, name }: MetricId): string {
  return `${group}.${name}`;
}

/** The lowest or the highest finite value that a trial has reported; undefined without one. */
export function bestValue(trial: Trial, { group, name }: MetricId, smallerIsBetter: boolean): number | undefined {
  const key = Object.keys(GROUPS).find((each) => GROUPS[each] === group) ?? group;
  const summaries = trial.summaryMetrics as Record<string, Record<string, Record<string, unknown>>> | undefined;
  return wireNumber(summaries?.[key]?.[name]?.[smallerIsBetter ? "min" : "max"]);
}
