import { useState } from "react";

import { fullTime } from "@/data/configs/searcher";
import { runtimeStart, searchStart } from "@/data/experiments/drafts";
import { NewExperiment } from "@/features/submit/NewExperiment";
import { SearchForm } from "@/features/submit/SearchForm";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

/** A search over hyperparameters, from the values of a run. */
export default function SearchDialog({ experiment, trial, onClose }: ExperimentDialogProps) {
  const [start] = useState(() => searchStart(experiment, trial));
  const [source] = useState(() => runtimeStart(experiment));
  const from = trial ? `trial ${trial.id}` : `experiment ${experiment.id}`;
  const full = fullTime((experiment.config as { searcher?: unknown } | undefined)?.searcher, trial?.totalBatchesProcessed);
  return (
    <NewExperiment
      parentId={experiment.id ?? 0}
      title={`Search hyperparameters from ${from}`}
      description="Choose what varies. All trials have the files of the source and start from scratch."
      action="Start the search"
      start={start}
      source={{ label: `experiment ${experiment.id}`, text: source.text }}
      form={(editing) => <SearchForm editing={editing} full={full} />}
      onClose={onClose}
    />
  );
}
