import { Link } from "react-router";

import { bestMetric, byMetric, latestMetric, smallerIsBetter } from "@/data/experiments/facts";
import type { Experiment, Trial } from "@/data/experiments/queries";
import { formatBytes } from "@/data/format/numbers";
import { isFinished } from "@/data/states";
import { Card, Stat } from "@/ui/layout/Card";
import { Num } from "@/ui/text/Num";
import { Duration } from "@/ui/text/Time";

const LOOK = { gap: "12px 40px", alignItems: "flex-start" };

/** What the whole experiment has brought. */
export function ExperimentResults({ experiment, trials }: { experiment: Experiment; trials: Trial[] }) {
  const metric = experiment.searcherMetric;
  const best = byMetric(trials, metric, smallerIsBetter(experiment.config))[0];
  const batches = trials.reduce((sum, each) => sum + (each.totalBatchesProcessed ?? 0), 0);
  return (
    <Card>
      <div className="row" style={LOOK}>
        <Stat label={`Best ${metric ?? "metric"}`}>
          <Num value={best && bestMetric(best, metric)} />
        </Stat>
        {trials.length > 1 && best && (
          <Stat label="Best trial">
            <Link to={`/experiments/${experiment.id}/trials/${best.id}/overview`}>{best.id}</Link>
          </Stat>
        )}
        {trials.length === 1 && (
          <Stat label={`Latest ${metric ?? "metric"}`}>
            <Num value={latestMetric(trials[0] ?? {}, metric)} />
          </Stat>
        )}
        <Stat label="Batches">
          <Num value={batches} />
        </Stat>
        <Stat label="Trials">
          <Num value={experiment.numTrials} />
        </Stat>
        <Stat label="Checkpoints">
          <Num value={experiment.checkpointCount} />
        </Stat>
        <Stat label="Size">{formatBytes(experiment.checkpointSize)}</Stat>
      </div>
    </Card>
  );
}

/** What one trial has brought. */
export function TrialResults({ trial, metric }: { trial: Trial; metric: string | undefined }) {
  return (
    <Card>
      <div className="row" style={LOOK}>
        <Stat label={`Best ${metric ?? "metric"}`}>
          <Num value={bestMetric(trial, metric)} />
        </Stat>
        <Stat label={`Latest ${metric ?? "metric"}`}>
          <Num value={latestMetric(trial, metric)} />
        </Stat>
        <Stat label="Batches">
          <Num value={trial.totalBatchesProcessed} />
        </Stat>
        <Stat label="Duration">
          <Duration start={trial.startTime} end={isFinished(trial.state) ? trial.endTime : undefined} />
        </Stat>
        <Stat label="Checkpoints">
          <Num value={trial.checkpointCount} />
        </Stat>
        <Stat label="Size">{formatBytes(trial.totalCheckpointSize)}</Stat>
      </div>
    </Card>
  );
}
