import { Link } from "react-router";

import type { Experiment } from "@/data/experiments/queries";
import { useStory } from "@/data/experiments/story";
import { useWhy } from "@/data/experiments/why";
import { stateFamily } from "@/data/states";
import { Card } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";

import { sentence } from "./WhyView";

/** One sentence on top: what a waiting experiment waits for, or why a failed one failed. */
export function ReasonCard({ experiment }: { experiment: Experiment }) {
  const family = stateFamily(experiment.state);
  const waits = useWhy(experiment.jobId, family === "waiting").data;
  const failed = family === "failed";
  const story = useStory("experiments", String(experiment.id), failed).data;
  const text = family === "waiting" ? waits?.text : failed ? story?.reason : undefined;
  if (!text) return null;
  return (
    <Card>
      <div className="row">
        <StateBadge state={experiment.state} />
        <strong className="grow">{sentence(text)}</strong>
        <Link to={`/experiments/${experiment.id}/${failed ? "story" : "why"}`}>
          {failed ? "What happened" : "Details"}
        </Link>
      </div>
    </Card>
  );
}
