import { stringify } from "yaml";

import type { ComparedRun } from "@/data/experiments/compared";
import { DiffView } from "@/ui/editor/Editor";

import { Pair } from "./Pair";

/** The runtime configurations of two runs, with their hyperparameters. */
export function ConfigDiff({ runs }: { runs: ComparedRun[] }) {
  return (
    <Pair runs={runs}>
      {(before, after) => (
        <DiffView
          label="Configuration"
          before={textOf(before)}
          after={textOf(after)}
          beforeLabel={`trial ${before.trial.id}`}
          afterLabel={`trial ${after.trial.id}`}
        />
      )}
    </Pair>
  );
}

function textOf({ trial, experiment }: ComparedRun): string {
  return stringify({ ...experiment.config, hyperparameters: trial.hparams }, { sortMapEntries: true });
}
