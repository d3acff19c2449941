/** The acts that start new work from an experiment or a run: those that the user may do. */
import { branchRefusal, continueRefusal, continueWord, forkRefusal } from "@/data/experiments/continuing";
import type { Experiment, Trial } from "@/data/experiments/queries";
import type { Rights } from "@/data/permissions/permissions";
import type { IconName } from "@/ui/icons/Icon";
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

/** An act and the dialog that it opens. */
interface StartAct {
  name: DialogName;
  label: string;
  icon: IconName;
  disabledReason: string | undefined;
}

export function startActs({ experiment, trials, trial, isPart, rights }: Omit<Around, "open">): StartAct[] {
  const mayContinue = rights.may("PERMISSION_TYPE_UPDATE_EXPERIMENT", experiment.workspaceId);
  const mayCreate = mayStart(experiment, rights);
  const acts: (StartAct | false | undefined)[] = [
    mayContinue &&
      !isPart && {
        name: "continue",
        label: continueWord(experiment),
        icon: "play",
        disabledReason: continueRefusal(experiment, trials),
      },
    mayCreate && {
      name: "fork",
      label: isPart ? "Fork its search" : "Fork",
      icon: "fork",
      disabledReason: forkRefusal(experiment),
    },
    mayCreate &&
      trial && {
        name: "branch",
        label: "Continue in a new experiment",
        icon: "external",
        disabledReason: branchRefusal(experiment, trial),
      },
    mayCreate && {
      name: "search",
      label: "Search hyperparameters",
      icon: "search",
      disabledReason: forkRefusal(experiment),
    },
  ];
  return acts.filter((act): act is StartAct => Boolean(act));
}

/** Acts that stand as buttons on the page of a trial. */
const IN_SIGHT: ReadonlySet<DialogName> = new Set(["continue", "fork", "branch"]);

/** Those that are possible now; the others stay in the menu with their reasons. */
export function startButtons(around: Omit<Around, "open">): StartAct[] {
  const possible = startActs(around).filter(({ name, disabledReason }) => IN_SIGHT.has(name) && !disabledReason);
  const continues = possible.find(({ name }) => name === "continue") ?? possible.find(({ name }) => name === "branch");
  return possible
    .filter((act) => act.name === "fork" || act === continues)
    .map((act) => (act.name === "branch" ? { ...act, label: "Continue" } : act));
}

/** The acts as entries of a menu, without those that are buttons beside it. */
export function startMenu({ open, ...around }: Around, buttons: readonly StartAct[] = []): MenuEntry[] {
  return startActs(around)
    .filter(({ name }) => !buttons.some((each) => each.name === name))
    .map(({ name, label, ...act }) => ({ ...act, label: `${label} …`, onSelect: () => open(name) }));
}

/** A new experiment takes the source's files and goes to a workspace where the user may create some. */
export function mayStart(experiment: Pick<Experiment, "workspaceId">, rights: Pick<Rights, "may" | "mayAnywhere">): boolean {
  return (
    rights.mayAnywhere("PERMISSION_TYPE_CREATE_EXPERIMENT") &&
    rights.may("PERMISSION_TYPE_VIEW_EXPERIMENT_ARTIFACTS", experiment.workspaceId)
  );
}
