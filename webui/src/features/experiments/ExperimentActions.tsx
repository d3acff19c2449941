import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearchParams } from "react-router";

import { actionOf, type ActionId } from "@/data/experiments/actions";
import { continueRefusal } from "@/data/experiments/continuing";
import type { Experiment, Trial } from "@/data/experiments/queries";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { isFinished, stateFamily } from "@/data/states";
import { fromSearch } from "@/features/runs/item";
import { ICONS, reasonOf, useActions } from "@/features/runs/useActions";
import { Button, IconButton } from "@/ui/button/Button";
import { Menu } from "@/ui/overlay/Menu";

import { ExperimentDialogs, type DialogName } from "./ExperimentDialogs";
import { startMenu } from "./startMenu";

/** Pause, resume and stop as buttons; everything else in the menu. The open dialog is in the URL. */
export function ExperimentActions({
  experiment,
  trials,
  trial,
}: {
  experiment: Experiment;
  trials: Trial[];
  /** The one run of an experiment that is no search. */
  trial: Trial | undefined;
}) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const projectId = experiment.projectId ?? 1;
  const { start, menuOf, element } = useActions({
    table: "experiment",
    projectId,
    workspaceId: experiment.workspaceId,
    onDone: (id, succeeded) => {
      if (id === "delete" && succeeded) void navigate(`/projects/${projectId}/experiments`);
      else void cache.invalidateQueries({ queryKey: keys.experiment(experiment.id ?? 0) });
    },
  });
  const item = fromSearch({ experiment });
  const rights = useRights();
  const { may } = rights;
  const [query, setQuery] = useSearchParams();
  const open = (name: DialogName) => {
    const next = new URLSearchParams(query);
    next.set("dialog", name);
    setQuery(next);
  };
  const workspace = experiment.workspaceId;
  const mayUpdate = may("PERMISSION_TYPE_UPDATE_EXPERIMENT", workspace);
  const mayLaunch = may("PERMISSION_TYPE_CREATE_NSC", workspace);
  const mayEdit = may("PERMISSION_TYPE_UPDATE_EXPERIMENT_METADATA", workspace);
  const finished = isFinished(experiment.state);
  const button = (id: ActionId) => (
    <Button icon={ICONS[id]} disabledReason={reasonOf(actionOf(id), item, "experiment")} onClick={() => start(id, [item])}>
      {actionOf(id).label}
    </Button>
  );
  const isPaused = reasonOf(actionOf("resume"), item, "experiment") === undefined;
  const inSight: ActionId[] = ["pause", "resume", "cancel", experiment.archived ? "archive" : "unarchive"];
  return (
    <>
      {mayUpdate && !finished && (
        <>
          {button(isPaused ? "resume" : "pause")}
          {button("cancel")}
        </>
      )}
      {mayUpdate && stateFamily(experiment.state) === "failed" && (
        <Button icon="refresh" disabledReason={continueRefusal(experiment, trials)} onClick={() => open("continue")}>
          Retry
        </Button>
      )}
      <Menu
        trigger={<IconButton icon="more" label="More actions" look="normal" />}
        items={[
          ...startMenu({ experiment, trials, trial, rights, open }),
          "separator",
          mayLaunch && {
            label: "Open TensorBoard",
            icon: "chart",
            disabledReason: experiment.unmanaged ? "TensorBoard is not offered for detached experiments." : undefined,
            onSelect: () => open("tensorboard"),
          },
          trials.length > 1 && {
            label: "Compare the trials",
            icon: "columns",
            to: `/compare?runs=${trials.slice(0, 20).map((trial) => trial.id).join(",")}`,
          },
          "separator",
          mayEdit && { label: "Edit name, description and tags …", icon: "edit", onSelect: () => open("edit") },
          mayEdit && { label: "Keep logs …", icon: "log", onSelect: () => open("retain") },
          "separator",
          ...menuOf(item, inSight),
        ]}
      />
      {element}
      <ExperimentDialogs experiment={experiment} trials={trials} trial={trial} />
    </>
  );
}
