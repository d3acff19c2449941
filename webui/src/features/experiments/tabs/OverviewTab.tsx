import { bestMetric } from "@/data/experiments/facts";
import { Card, Cards, Facts } from "@/ui/layout/Card";

import { useExperimentContext } from "../context";
import { BestTrials } from "../overview/BestTrials";
import { experimentFacts } from "../overview/facts";
import { Hyperparameters, spaceOf } from "../overview/Hyperparameters";
import { LogCard } from "../overview/LogCard";
import { MetricCard } from "../overview/MetricCard";
import { ExperimentResults } from "../overview/Results";
import { ReasonCard } from "../ReasonCard";

/** What matters at a glance: the result, the reason of a wait or failure, the configuration. */
export default function OverviewTab() {
  const { experiment, trials, trial } = useExperimentContext();
  const base = `/experiments/${experiment.id}`;
  const metric = experiment.searcherMetric;
  const isReported = trial && bestMetric(trial, metric) !== undefined;
  return (
    <div className="stack" style={{ gap: 16 }}>
      <ReasonCard experiment={experiment} trials={trials} />
      <ExperimentResults experiment={experiment} trials={trials} />
      <Cards least={360}>
        {isReported && metric && <MetricCard trial={trial} metric={metric} to={`${base}/metrics`} />}
        {trial?.taskId && <LogCard key={trial.id} trial={trial} to={`${base}/logs`} />}
        <Card title="Facts">
          <Facts facts={experimentFacts(experiment, trial)} />
        </Card>
        {trial ? (
          <Card title="Hyperparameters">
            <Hyperparameters values={trial.hparams} />
          </Card>
        ) : (
          <Card title="Search space">
            <Hyperparameters values={spaceOf(experiment)} />
          </Card>
        )}
        {!trial && trials.length > 0 && <BestTrials experiment={experiment} trials={trials} />}
      </Cards>
    </div>
  );
}
