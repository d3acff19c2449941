/** Series of `data/series` as lines of a chart. */
import type { TrialSeries } from "@/data/series/types";

import type { ChartSeries } from "./types";

/** `label` names a line; the default says the run and, with several metrics, the metric. */
export function chartSeries(
  series: readonly TrialSeries[],
  label: (series: TrialSeries) => string = (each) => `trial ${each.trialId} ${each.group}.${each.name}`,
): ChartSeries[] {
  return series.map((each) => ({
    id: `${each.trialId} ${each.group}.${each.name}`,
    runId: each.trialId,
    label: label(each),
    x: each.x,
    y: each.last,
    ...(each.bucketed ? { min: each.min, max: each.max } : {}),
    time: each.time,
    nonFinite: each.nonFinite,
    nonFiniteCount: each.nonFiniteCount,
    count: each.count + each.withoutX,
  }));
}
