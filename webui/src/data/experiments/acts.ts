/** What can be done with an experiment, and when. The master has the last word. */
import { answer, api } from "@/api/client";

import { isFinished, stateFamily, stateWord } from "../states";
import type { Experiment } from "./queries";

export type Act =
  | "activate"
  | "pause"
  | "cancel"
  | "kill"
  | "archive"
  | "unarchive";

/** Why the act cannot be done now; `undefined` when it can. */
export function refusal(act: Act, experiment: Experiment): string | undefined {
  const finished = isFinished(experiment.state);
  const word = stateWord(experiment.state);
  if (experiment.unmanaged && act !== "archive" && act !== "unarchive")
    return "A detached experiment runs outside of this cluster: stop its script.";
  switch (act) {
    case "activate":
      return word === "PAUSED" ? undefined : "Only a paused experiment can be resumed.";
    case "pause":
      if (finished) return "The experiment has ended.";
      return word === "PAUSED" || stateFamily(experiment.state) === "stopping"
        ? "The experiment is not running."
        : undefined;
    case "cancel":
    case "kill":
      return finished ? "The experiment has ended." : undefined;
    case "archive":
      if (experiment.archived) return "The experiment is archived.";
      return finished ? undefined : "Only an experiment that has ended can be archived.";
    case "unarchive":
      return experiment.archived ? undefined : "The experiment is not archived.";
  }
}

export async function act(name: Act, id: number): Promise<void> {
  const params = { params: { path: { id } } };
  switch (name) {
    case "activate":
      await answer(api.POST("/api/v1/experiments/{id}/activate", params));
      return;
    case "pause":
      await answer(api.POST("/api/v1/experiments/{id}/pause", params));
      return;
    case "cancel":
      await answer(api.POST("/api/v1/experiments/{id}/cancel", params));
      return;
    case "kill":
      await answer(api.POST("/api/v1/experiments/{id}/kill", params));
      return;
    case "archive":
      await answer(api.POST("/api/v1/experiments/{id}/archive", params));
      return;
    case "unarchive":
      await answer(api.POST("/api/v1/experiments/{id}/unarchive", params));
  }
}

/** Whether the experiment searches; the page of another one is that of its only trial. */
export function isSearch(experiment: Experiment): boolean {
  return (experiment.numTrials ?? 1) > 1 || experiment.searcherType !== "single";
}
