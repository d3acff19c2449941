import { Link } from "react-router";

import { bestMetric } from "@/data/experiments/facts";
import type { Trial } from "@/data/experiments/queries";
import { StateBadge } from "@/ui/state/StateBadge";
import { Num } from "@/ui/text/Num";

/** The first cells of a trial's row: its link, its state and its best value of the metric. */
export function TrialCells({ trial, metric }: { trial: Trial; metric: string | undefined }) {
  return (
    <>
      <td>
        <Link to={`/experiments/${trial.experimentId}/trials/${trial.id}/overview`}>{trial.id}</Link>
      </td>
      <td>
        <StateBadge state={trial.state} plain />
      </td>
      <td>
        <Num value={bestMetric(trial, metric)} />
      </td>
    </>
  );
}
