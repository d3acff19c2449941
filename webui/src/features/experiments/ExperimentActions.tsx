import { useSearchParams } from "react-router";

import { refusal } from "@/data/experiments/acts";
import { continueRefusal } from "@/data/experiments/continuing";
import type { Experiment, Trial } from "@/data/experiments/queries";
import { useRights } from "@/data/permissions/permissions";
import { isFinished, stateFamily } from "@/data/states";
import { Button, IconButton } from "@/ui/button/Button";
import { Menu } from "@/ui/overlay/Menu";

import { ExperimentDialogs, type DialogName } from "./ExperimentDialogs";
import { startMenu } from "./startMenu";
import { useActs } from "./useActs";

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
  const { run, remove } = useActs(experiment);
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
  const mayDelete = may("PERMISSION_TYPE_DELETE_EXPERIMENT", workspace);
  const finished = isFinished(experiment.state);
  const paused = refusal("activate", experiment) === undefined;
  return (
    <>
      {mayUpdate && !finished && (
        <>
          {paused ? (
            <Button icon="play" onClick={() => void run("activate")}>
              Resume
            </Button>
          ) : (
            <Button
              icon="pause"
              disabledReason={refusal("pause", experiment)}
              onClick={() => void run("pause")}
            >
              Pause
            </Button>
          )}
          <Button
            icon="stop"
            disabledReason={refusal("cancel", experiment)}
            onClick={() => void run("cancel")}
          >
            Stop
          </Button>
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
          mayEdit && { label: "Move to another project …", icon: "move", onSelect: () => open("move") },
          mayEdit && { label: "Keep logs …", icon: "log", onSelect: () => open("retain") },
          mayEdit &&
            (experiment.archived
              ? { label: "Unarchive", icon: "archive", onSelect: () => void run("unarchive") }
              : {
                  label: "Archive",
                  icon: "archive",
                  disabledReason: refusal("archive", experiment),
                  onSelect: () => void run("archive"),
                }),
          "separator",
          mayUpdate && {
            label: "Kill",
            icon: "close",
            danger: true,
            disabledReason: refusal("kill", experiment),
            onSelect: () => void run("kill"),
          },
          mayDelete && {
            label: "Delete",
            icon: "trash",
            danger: true,
            disabledReason: finished ? undefined : "Stop the experiment first.",
            onSelect: () => void remove(),
          },
        ]}
      />
      <ExperimentDialogs experiment={experiment} trials={trials} trial={trial} />
    </>
  );
}
