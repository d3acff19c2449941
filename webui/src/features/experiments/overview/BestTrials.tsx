import { Link } from "react-router";

import { bestMetric, byMetric, smallerIsBetter } from "@/data/experiments/facts";
import type { Experiment, Trial } from "@/data/experiments/queries";
import { Card, PlainTable } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";
import { Num } from "@/ui/text/Num";

const MAX_TRIALS = 8;

export function BestTrials({ experiment, trials }: { experiment: Experiment; trials: Trial[] }) {
  const metric = experiment.searcherMetric;
  const best = byMetric(trials, metric, smallerIsBetter(experiment.config)).slice(0, MAX_TRIALS);
  return (
    <Card title="Best trials" flush>
      <PlainTable label="Best trials" columns={["Trial", "State", metric ?? "Metric", "Batches"]}>
        {best.map((trial) => (
          <tr key={trial.id}>
            <td>
              <Link to={`/experiments/${experiment.id}/trials/${trial.id}/overview`}>{trial.id}</Link>
            </td>
            <td>
              <StateBadge state={trial.state} plain />
            </td>
            <td>
              <Num value={bestMetric(trial, metric)} />
            </td>
            <td>
              <Num value={trial.totalBatchesProcessed} />
            </td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}
