import { MediaSection } from "@/features/metrics/media/MediaSection";
import { MetricGrid } from "@/features/metrics/MetricGrid";

import { useExperimentContext } from "../context";

/** A chart a metric: of the run, or of all runs of a search. One trial shows its media below. */
export default function MetricsTab() {
  const { experiment, trial, trials } = useExperimentContext();
  return (
    <div className="stack">
      <MetricGrid trials={trials.slice(0, MAX_RUNS)} searcherMetric={experiment.searcherMetric} />
      {trial && <MediaSection key={trial.id} trial={trial} />}
    </div>
  );
}

/** The API reads at most so many runs into one chart. */
const MAX_RUNS = 100;
