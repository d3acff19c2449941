import { Link } from "react-router";

import { bestMetric } from "@/data/experiments/facts";
import type { Experiment, Trial } from "@/data/experiments/queries";
import { useStory, type Failure } from "@/data/experiments/story";
import { useWhy } from "@/data/experiments/why";
import { isFinished, stateFamily } from "@/data/states";
import { Card } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";

import { sentence } from "./WhyView";

/** What the sentence is about: an experiment, or one trial of it. */
interface Subject {
  kind: "experiments" | "trials";
  id: number;
  state: string | undefined;
  restarts: number;
  /** No value of the searcher's metric is known, though some should be. */
  isSilent: boolean;
  /** The address of its story. */
  story: string;
}

/** Why an experiment waits or failed, or why the last attempt of one of its trials failed. */
export function ReasonCard({ experiment, trials }: { experiment: Experiment; trials: readonly Trial[] }) {
  const { id = 0, state, searcherMetric } = experiment;
  const restarts = trials.reduce((sum, each) => sum + (each.restarts ?? 0), 0);
  const isSilent = !trials.some((each) => bestMetric(each, searcherMetric) !== undefined);
  const subject: Subject = { kind: "experiments", id, state, restarts, isSilent, story: `/experiments/${id}/story` };
  return <Reason experiment={experiment} subject={subject} />;
}

/** The same of one trial. */
export function TrialReasonCard({ experiment, trial, base }: { experiment: Experiment; trial: Trial; base: string }) {
  const { id = 0, state, restarts = 0 } = trial;
  const isSilent = bestMetric(trial, experiment.searcherMetric) === undefined;
  const subject: Subject = { kind: "trials", id, state, restarts, isSilent, story: `${base}/story` };
  return <Reason experiment={experiment} subject={subject} />;
}

function Reason({ experiment, subject }: { experiment: Experiment; subject: Subject }) {
  const { kind, id, state, restarts } = subject;
  const family = stateFamily(state);
  const waits = useWhy(experiment.jobId, family === "waiting").data;
  const failed = family === "failed";
  const silent = family === "done" && subject.isSilent && !experiment.unmanaged;
  const again = !isFinished(state) && restarts > 0;
  const story = useStory(kind, String(id), failed || again || silent, restarts).data;
  const failure = failed || again ? story?.failure : undefined;
  const text = family === "waiting" ? waits?.text : failed || silent ? story?.reason : undefined;
  if (!failure && !text) return null;
  return (
    <Card>
      <div className="stack">
        {failure && <FailureRow failure={failure} experiment={experiment} subject={subject} again={again} />}
        {!(failure && failed) && text && (
          <div className="row">
            <StateBadge state={state} />
            <strong className="grow">
              <bdi>{sentence(text)}</bdi>
            </strong>
            <Link to={family === "waiting" ? `/experiments/${experiment.id}/why` : subject.story}>
              {family === "waiting" ? "Details" : "What happened"}
            </Link>
          </div>
        )}
      </div>
    </Card>
  );
}

function FailureRow({ failure, experiment, subject, again }: { failure: Failure; experiment: Experiment; subject: Subject; again: boolean }) {
  const trial = `/experiments/${experiment.id}/trials/${failure.trialId}`;
  const line = Number(failure.logPosition) > 0 ? `#L${failure.logPosition}` : "";
  return (
    <div className="row">
      <StateBadge state={subject.state} />
      <strong className="grow" style={{ overflowWrap: "anywhere" }}>
        {again && <span className="muted">The last attempt failed: </span>}
        <bdi>{failure.text}</bdi>
      </strong>
      <Link to={`${trial}/logs${line}`}>Log</Link>
      <Link to={subject.story}>What happened</Link>
    </div>
  );
}
