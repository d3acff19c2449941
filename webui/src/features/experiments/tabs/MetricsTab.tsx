import { MetricGrid } from "@/features/metrics/MetricGrid";

import { useExperimentContext } from "../context";

/** A chart a metric: of the run, or of all runs of a search. */
export default function MetricsTab() {
  const { experiment, trials } = useExperimentContext();
  return <MetricGrid trials={trials.slice(0, MAX_RUNS)} searcherMetric={experiment.searcherMetric} />;
}

/** The API reads at most so many runs into one chart. */
const MAX_RUNS = 100;
