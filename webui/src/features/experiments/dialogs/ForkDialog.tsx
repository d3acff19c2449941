import { useState } from "react";

import { forkStart, runtimeStart } from "@/data/experiments/drafts";
import { ExperimentFields } from "@/features/submit/ExperimentFields";
import { NewExperiment } from "@/features/submit/NewExperiment";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

/** A new experiment with the files and the configuration of another. */
export default function ForkDialog({ experiment, onClose }: ExperimentDialogProps) {
  // The source may change while one types; what one started from does not.
  const [start] = useState(() => forkStart(experiment));
  const [source] = useState(() => runtimeStart(experiment));
  return (
    <NewExperiment
      parent={experiment}
      title={`Fork experiment ${experiment.id}`}
      description="A new experiment with the same files. It starts from scratch."
      action="Fork"
      start={start}
      source={{ label: `experiment ${experiment.id}`, text: source.text }}
      withSubmitted
      form={(editing) => <ExperimentFields editing={editing} />}
      onClose={onClose}
    />
  );
}
