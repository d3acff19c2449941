import { useMemo } from "react";
import { Link } from "react-router";

import type { Trial } from "@/data/experiments/queries";
import { plural } from "@/data/format/numbers";
import { isFinished } from "@/data/states";
import { MetricChart } from "@/features/metrics/MetricChart";
import type { Mark } from "@/ui/chart/types";
import { Card } from "@/ui/layout/Card";

const HEIGHT = 170;

/** The searcher's metric of a trial over its steps, the best checkpoint marked. */
export function MetricCard({ trial, metric, to }: { trial: Trial; metric: string; to: string }) {
  const id = trial.id ?? 0;
  const trialIds = useMemo(() => [id], [id]);
  const isOpen = !isFinished(trial.state);
  const liveIds = useMemo(() => (isOpen ? [id] : []), [id, isOpen]);
  const series = useMemo(() => ({ group: "validation", name: metric }), [metric]);
  const steps = trial.bestCheckpoint?.totalBatches;
  const marks = useMemo(() => (steps === undefined ? [] : [bestMark(id, metric, steps)]), [id, metric, steps]);
  return (
    <Card
      title={<bdi>{metric}</bdi>}
      actions={
        <>
          {steps !== undefined && <span className="hint" title="Steps of the best checkpoint, which the chart marks">best at {plural(steps, "batch", "batches")}</span>}
          <Link to={to}>All metrics</Link>
        </>
      }
    >
      <MetricChart
        metric={series}
        trialIds={trialIds}
        liveIds={liveIds}
        x="batches"
        range={undefined}
        height={HEIGHT}
        marks={marks}
        title={metric}
        bare
      />
    </Card>
  );
}

export function bestMark(trialId: number, metric: string, steps: number): Mark {
  return { kind: "best", x: steps, label: "best checkpoint", seriesId: `${trialId} validation.${metric}` };
}
