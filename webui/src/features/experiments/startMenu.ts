/** The acts that start new work from an experiment or a run: those that the user may do. */
import { branchRefusal, continueRefusal, continueWord, forkRefusal } from "@/data/experiments/continuing";
import type { Experiment, Trial } from "@/data/experiments/queries";
import type { Rights } from "@/data/permissions/permissions";
import type { MenuEntry } from "@/ui/overlay/Menu";

import type { DialogName } from "./ExperimentDialogs";

interface Around {
  experiment: Experiment;
  trials: readonly Trial[];
  /** The run that the page shows. */
  trial: Trial | undefined;
  /** The page is one of a run in a search: the search itself is continued on its own page. */
  isPart?: boolean;
  rights: Pick<Rights, "may" | "mayAnywhere">;
  open(name: DialogName): void;
}

export function startMenu({ experiment, trials, trial, isPart, rights, open }: Around): MenuEntry[] {
  const mayContinue = rights.may("PERMISSION_TYPE_UPDATE_EXPERIMENT", experiment.workspaceId);
  const mayCreate = mayStart(experiment, rights);
  return [
    mayContinue &&
      !isPart && {
        label: `${continueWord(experiment)} …`,
        icon: "play",
        disabledReason: continueRefusal(experiment, trials),
        onSelect: () => open("continue"),
      },
    mayCreate && {
      label: isPart ? "Fork its search …" : "Fork …",
      icon: "fork",
      disabledReason: forkRefusal(experiment),
      onSelect: () => open("fork"),
    },
    mayCreate &&
      trial && {
        label: "Continue in a new experiment …",
        icon: "external",
        disabledReason: branchRefusal(experiment, trial),
        onSelect: () => open("branch"),
      },
    mayCreate && {
      label: "Search hyperparameters …",
      icon: "search",
      disabledReason: forkRefusal(experiment),
      onSelect: () => open("search"),
    },
  ];
}

/** A new experiment takes the source's files and goes to a workspace where the user may create some. */
export function mayStart(experiment: Pick<Experiment, "workspaceId">, rights: Pick<Rights, "may" | "mayAnywhere">): boolean {
  return (
    rights.mayAnywhere("PERMISSION_TYPE_CREATE_EXPERIMENT") &&
    rights.may("PERMISSION_TYPE_VIEW_EXPERIMENT_ARTIFACTS", experiment.workspaceId)
  );
}
