import { Link } from "react-router";

import type { Experiment, Trial } from "@/data/experiments/queries";
import { formatPercent, plural } from "@/data/format/numbers";
import { isFinished, stateFamily } from "@/data/states";
import { Progress } from "@/ui/feedback/Feedback";
import { Duration, Time } from "@/ui/text/Time";

/** The facts that stay in sight on every tab. */
export function HeaderFacts({
  experiment,
  trials,
}: {
  experiment: Experiment;
  trials: Trial[];
}) {
  const finished = isFinished(experiment.state);
  const restarts = trials.reduce((sum, trial) => sum + (trial.restarts ?? 0), 0);
  const isWaiting = stateFamily(experiment.state) === "waiting";
  return (
    <div className="row muted" style={{ gap: 14, fontSize: "var(--size-13)" }}>
      <span>
        started <Time at={experiment.startTime} />
      </span>
      <span title="Duration">
        <Duration start={experiment.startTime} end={finished ? experiment.endTime : undefined} />
      </span>
      {!finished && experiment.progress ? (
        <span className="row" style={{ gap: 6 }}>
          <span style={{ width: 80 }}>
            <Progress value={experiment.progress} label="Progress" />
          </span>
          {formatPercent(experiment.progress)}
        </span>
      ) : null}
      {isWaiting && (
        <Link to={`/experiments/${experiment.id}/why`}>Why does it wait?</Link>
      )}
      {restarts > 0 && <span>{plural(restarts, "restart")}</span>}
      {experiment.forkedFrom ? (
        <span>
          forked from <Link to={`/experiments/${experiment.forkedFrom}`}>{experiment.forkedFrom}</Link>
        </span>
      ) : null}
    </div>
  );
}
