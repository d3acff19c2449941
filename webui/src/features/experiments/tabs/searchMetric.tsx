/** The metric that the charts of a search show, and which of its values are good. */
import { useMemo } from "react";

import { smallerIsBetter } from "@/data/experiments/facts";
import { idOf, metricNames } from "@/data/experiments/metricNames";
import type { Experiment, Trial } from "@/data/experiments/queries";
import type { MetricId } from "@/data/series/types";
import { useChartAddress } from "@/features/metrics/useChartAddress";
import { Segments, Select } from "@/ui/field/Field";

export interface SearchMetric {
  metric: MetricId;
  smallerIsBetter: boolean;
  /** All that can be chosen: what the trials have reported, and the searcher's metric. */
  choices: readonly MetricId[];
}

/** The choice of an address; without one, the searcher's metric in its direction. */
export function searchMetric(experiment: Experiment, trials: readonly Trial[], params: URLSearchParams): SearchMetric {
  const own = { group: "validation", name: experiment.searcherMetric ?? "" };
  const reported = metricNames(trials, own.name);
  const isChoice = own.name !== "" && reported.every((each) => idOf(each) !== idOf(own));
  const choices = isChoice ? [own, ...reported] : reported;
  const metric = choices.find((each) => idOf(each) === params.get("metric")) ?? choices[0] ?? own;
  const best = params.get("best");
  const small = best === "lowest" || (best !== "highest" && smallerIsBetter(experiment.config));
  return { metric, smallerIsBetter: small, choices };
}

/** Validation metrics, the common ones, have their plain names. */
export function labelOf(metric: MetricId): string {
  return metric.group === "validation" ? metric.name : idOf(metric);
}

/** The choice of metric and direction, which stands in the address. */
export function useSearchMetric(experiment: Experiment, trials: readonly Trial[]) {
  const { params, change } = useChartAddress("batches");
  const chosen = useMemo(() => searchMetric(experiment, trials, params), [experiment, trials, params]);
  const own = idOf({ group: "validation", name: experiment.searcherMetric ?? "" });
  const usual = smallerIsBetter(experiment.config) ? "lowest" : "highest";
  const picker = chosen.choices.length > 0 && (
    <div className="row">
      <Select
        label="Metric of the charts"
        hideLabel
        value={idOf(chosen.metric)}
        options={chosen.choices.map((each) => ({
          value: idOf(each),
          label: idOf(each) === own ? `${own} (searcher)` : idOf(each),
        }))}
        onValue={(id) => change("metric", id === own ? undefined : id)}
      />
      <Segments
        label="Which values are good"
        value={chosen.smallerIsBetter ? "lowest" : "highest"}
        options={DIRECTIONS}
        onValue={(best) => change("best", best === usual ? undefined : best)}
      />
    </div>
  );
  return { ...chosen, picker };
}

const DIRECTIONS = [
  { value: "lowest", label: "Lowest is best" },
  { value: "highest", label: "Highest is best" },
] as const;
