/** Facts of experiments and trials that several pages show. */
import { wireNumber } from "../format/numbers";
import type { Experiment, Trial } from "./queries";

/** The searcher's metric in the best validation. */
export function bestMetric(trial: Trial, metric: string | undefined): number | undefined {
  return metricOf(trial.bestValidation, metric);
}

export function latestMetric(trial: Trial, metric: string | undefined): number | undefined {
  return metricOf(trial.latestValidation, metric);
}

function metricOf(workload: Trial["bestValidation"], metric: string | undefined) {
  const values = workload?.metrics?.avgMetrics as Record<string, unknown> | undefined;
  return metric ? wireNumber(values?.[metric]) : undefined;
}

/** Hyperparameters with dotted names, nested ones flattened. */
export function flatten(value: unknown, prefix = ""): [string, unknown][] {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    return prefix ? [[prefix, value]] : [];
  return Object.entries(value as Record<string, unknown>).flatMap(([key, inner]) =>
    flatten(inner, prefix ? `${prefix}.${key}` : key),
  );
}

export function shown(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return JSON.stringify(value) ?? "–";
}

/** Whether small values of the searcher's metric are good. */
export function smallerIsBetter(config: Record<string, unknown> | undefined): boolean {
  const searcher = config?.["searcher"] as { smaller_is_better?: boolean } | undefined;
  return searcher?.smaller_is_better ?? true;
}

/** Trials by the searcher's metric, the best first; those without a value last. */
export function byMetric(trials: Trial[], metric: string | undefined, small: boolean): Trial[] {
  const sign = small ? 1 : -1;
  const rank = (trial: Trial) => {
    const value = bestMetric(trial, metric);
    return value === undefined || Number.isNaN(value) ? Infinity : sign * value;
  };
  return [...trials].sort((a, b) => rank(a) - rank(b) || (a.id ?? 0) - (b.id ?? 0));
}

/** Whether the experiment searches; the page of another one is that of its only trial. */
export function isSearch(experiment: Experiment): boolean {
  return (experiment.numTrials ?? 1) > 1 || experiment.searcherType !== "single";
}
