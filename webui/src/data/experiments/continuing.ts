/** Which acts start new work from an experiment or a run, and why others cannot. */
import { isFinished, stateFamily, stateWord } from "../states";
import type { Experiment, Trial } from "./queries";

const DETACHED = "A detached experiment runs outside of this cluster: start its script again.";

/** Why no new experiment can be made of this one. */
export function forkRefusal(experiment: Experiment): string | undefined {
  if (experiment.unmanaged) return DETACHED;
  return experiment.parentArchived ? "Its project or workspace is archived: unarchive it first." : undefined;
}

/** Why no new experiment can start where the run has stopped. */
export function branchRefusal(experiment: Experiment, trial: Trial | undefined): string | undefined {
  const refused = forkRefusal(experiment);
  if (refused) return refused;
  if (!trial) return "The experiment has no trial yet.";
  return (trial.checkpointCount ?? 0) > 0 ? undefined : "The trial has no checkpoint to start from.";
}

/** Why the experiment itself cannot continue; the master has the last word. */
export function continueRefusal(experiment: Experiment, trials: readonly Trial[]): string | undefined {
  if (experiment.unmanaged) return DETACHED;
  if (!isFinished(experiment.state)) return "Only an experiment that has ended can continue.";
  if (stateWord(experiment.state).includes("DELET")) return "The experiment is deleted.";
  if (experiment.parentArchived) return "Its project or workspace is archived: unarchive it first.";
  switch (experiment.searcherType) {
    case "single":
      return trials.length > 0 ? undefined : "It has no trial that could continue.";
    case "random":
    case "grid": {
      if (trials.length === 0) return "It has no trial that could continue.";
      const open = trials.filter((trial) => stateWord(trial.state) !== "COMPLETED");
      return open.length > 0 ? undefined : "All of its trials are completed.";
    }
    default:
      return "A search that stops trials early cannot continue: fork it.";
  }
}

/** An experiment that failed is tried again; one that was stopped or is done continues. */
export function continueWord(experiment: Experiment): "Retry" | "Continue" {
  return stateFamily(experiment.state) === "failed" ? "Retry" : "Continue";
}

/** Why the configuration cannot be changed on the way; the master runs it with the owner's token. */
export function overrideRefusal(experiment: Experiment, userId: number | undefined): string | undefined {
  if (experiment.searcherType !== "single") return "A search continues as it is. Fork it to change its configuration.";
  return experiment.userId === userId
    ? undefined
    : "It is another user's and runs with their token. It continues as it is; fork it to change its configuration.";
}

/** Runs that start again when the experiment continues. */
export function continuedRuns(experiment: Experiment, trials: readonly Trial[]): number {
  return experiment.searcherType === "single"
    ? trials.length
    : trials.filter((trial) => stateWord(trial.state) !== "COMPLETED").length;
}
