import { useState } from "react";

import { forkStart, runtimeStart, submittedStart } from "@/data/experiments/drafts";
import type { OtherStart } from "@/features/submit/ConfigDialog";
import { ExperimentFields } from "@/features/submit/ExperimentFields";
import { NewExperiment } from "@/features/submit/NewExperiment";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

/** A new experiment with the files and the configuration of another. */
export default function ForkDialog({ experiment, onClose }: ExperimentDialogProps) {
  // The source may change while one types; what one started from does not.
  const [start] = useState(() => forkStart(experiment));
  const [source] = useState(() => runtimeStart(experiment));
  const [others] = useState(() => otherStarts(start.text, submittedStart(experiment).text));
  return (
    <NewExperiment
      parentId={experiment.id ?? 0}
      title={`Fork experiment ${experiment.id}`}
      description="A new experiment with the same files. It starts from scratch."
      action="Fork"
      start={start}
      source={{ label: `experiment ${experiment.id}`, text: source.text }}
      others={others}
      form={(editing) => <ExperimentFields editing={editing} />}
      onClose={onClose}
    />
  );
}

function otherStarts(complete: string, submitted: string): OtherStart[] {
  if (!submitted.trim()) return [];
  return [
    { label: "the complete configuration", text: complete },
    { label: "the submitted text", text: submitted },
  ];
}
