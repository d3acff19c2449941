import { useState } from "react";
import { useSearchParams } from "react-router";

import { continuationStart, runtimeStart } from "@/data/experiments/drafts";
import { ExperimentFields } from "@/features/submit/ExperimentFields";
import { NewExperiment } from "@/features/submit/NewExperiment";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

/** A new experiment of one run that starts from a checkpoint of another run. */
export default function BranchDialog({ experiment, trial, onClose }: ExperimentDialogProps) {
  const [params] = useSearchParams();
  const [checkpoint] = useState(() => params.get("from") ?? undefined);
  const [start] = useState(() => continuationStart(experiment, trial ?? {}, checkpoint));
  const [source] = useState(() => runtimeStart(experiment));
  return (
    <NewExperiment
      parentId={experiment.id ?? 0}
      title={`Continue trial ${trial?.id} in a new experiment`}
      description={
        checkpoint
          ? `The new trial starts from checkpoint ${checkpoint.slice(0, 8)}, with the values of trial ${trial?.id}.`
          : `The new trial starts from the last checkpoint of trial ${trial?.id}, with its values.`
      }
      action="Continue"
      start={start}
      source={{ label: `experiment ${experiment.id}`, text: source.text }}
      form={(editing) => <ExperimentFields editing={editing} />}
      onClose={onClose}
    />
  );
}
