import { bestMetric } from "@/data/experiments/facts";
import { useAttempts } from "@/data/experiments/attempts";
import type { Trial } from "@/data/experiments/queries";
import { Card, Cards, Facts } from "@/ui/layout/Card";

import { useExperimentContext } from "../context";
import { AttemptsCard } from "../overview/AttemptsCard";
import { trialFacts } from "../overview/facts";
import { Hyperparameters } from "../overview/Hyperparameters";
import { LogCard } from "../overview/LogCard";
import { MetricCard } from "../overview/MetricCard";
import { TrialResults } from "../overview/Results";
import { TrialReasonCard } from "../ReasonCard";

/** What matters at a glance of one trial: its own numbers, reason, log and starts. */
export default function TrialOverviewTab() {
  const { experiment, trial, base } = useExperimentContext();
  return trial ? <Overview {...{ experiment, trial, base }} /> : null;
}

function Overview({ experiment, trial, base }: Pick<ReturnType<typeof useExperimentContext>, "experiment" | "base"> & { trial: Trial }) {
  const attempts = useAttempts(trial).data;
  const metric = experiment.searcherMetric;
  const newest = attempts?.attempts[0];
  return (
    <div className="stack" style={{ gap: 16 }}>
      <TrialReasonCard experiment={experiment} trial={trial} base={base} />
      <TrialResults trial={trial} metric={metric} />
      <Cards least={360}>
        {metric && bestMetric(trial, metric) !== undefined && (
          <MetricCard trial={trial} metric={metric} to={`${base}/metrics`} />
        )}
        {trial.taskId && <LogCard key={trial.id} trial={trial} to={`${base}/logs`} />}
        <Card title="Facts">
          <Facts facts={trialFacts(experiment, trial, newest)} />
        </Card>
        <Card title="Hyperparameters">
          <Hyperparameters values={trial.hparams} />
        </Card>
      </Cards>
      {attempts && newest && <AttemptsCard attempts={attempts.attempts} total={attempts.total} logs={`${base}/logs`} />}
    </div>
  );
}
