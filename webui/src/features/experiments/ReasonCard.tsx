import { Link } from "react-router";

import type { Experiment, Trial } from "@/data/experiments/queries";
import { useStory, type Failure } from "@/data/experiments/story";
import { useWhy } from "@/data/experiments/why";
import { isFinished, stateFamily } from "@/data/states";
import { Card } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";

import { sentence } from "./WhyView";

/** One sentence on top: what a waiting experiment waits for, why a failed one or an attempt failed. */
export function ReasonCard({ experiment, trials }: { experiment: Experiment; trials: readonly Trial[] }) {
  const family = stateFamily(experiment.state);
  const waits = useWhy(experiment.jobId, family === "waiting").data;
  const failed = family === "failed";
  const restarts = trials.reduce((sum, each) => sum + (each.restarts ?? 0), 0);
  const again = !isFinished(experiment.state) && restarts > 0;
  const story = useStory("experiments", String(experiment.id), failed || again, restarts).data;
  const failure = failed || again ? story?.failure : undefined;
  const text = family === "waiting" ? waits?.text : failed ? story?.reason : undefined;
  if (!failure && !text) return null;
  return (
    <Card>
      <div className="stack">
        {failure && <FailureRow failure={failure} experiment={experiment} again={again} />}
        {!(failure && failed) && text && (
          <div className="row">
            <StateBadge state={experiment.state} />
            <strong className="grow">{sentence(text)}</strong>
            <Link to={`/experiments/${experiment.id}/${failed ? "story" : "why"}`}>
              {failed ? "What happened" : "Details"}
            </Link>
          </div>
        )}
      </div>
    </Card>
  );
}

function FailureRow({ failure, experiment, again }: { failure: Failure; experiment: Experiment; again: boolean }) {
  const trial = `/experiments/${experiment.id}/trials/${failure.trialId}`;
  const line = Number(failure.logPosition) > 0 ? `#L${failure.logPosition}` : "";
  return (
    <div className="row">
      <StateBadge state={experiment.state} />
      <strong className="grow" style={{ overflowWrap: "anywhere" }}>
        {again && <span className="muted">The last attempt failed: </span>}
        <bdi>{failure.text}</bdi>
      </strong>
      <Link to={`${trial}/logs${line}`}>Log</Link>
      <Link to={`/experiments/${experiment.id}/story`}>What happened</Link>
    </div>
  );
}
