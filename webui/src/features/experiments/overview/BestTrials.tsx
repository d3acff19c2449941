import { byMetric, smallerIsBetter } from "@/data/experiments/facts";
import type { Experiment, Trial } from "@/data/experiments/queries";
import { Card, PlainTable } from "@/ui/layout/Card";
import { Num } from "@/ui/text/Num";

import { TrialCells } from "../TrialCells";

const MAX_TRIALS = 8;

export function BestTrials({ experiment, trials }: { experiment: Experiment; trials: Trial[] }) {
  const metric = experiment.searcherMetric;
  const best = byMetric(trials, metric, smallerIsBetter(experiment.config)).slice(0, MAX_TRIALS);
  return (
    <Card title="Best trials" flush>
      <PlainTable label="Best trials" columns={["Trial", "State", metric ?? "Metric", "Batches"]}>
        {best.map((trial) => (
          <tr key={trial.id}>
            <TrialCells trial={trial} metric={metric} />
            <td>
              <Num value={trial.totalBatchesProcessed} />
            </td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}
