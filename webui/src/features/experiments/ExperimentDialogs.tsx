import type { ComponentType } from "react";
import { useSearchParams } from "react-router";

import type { Experiment, Trial } from "@/data/experiments/queries";
import { later } from "@/ui/later";

export type DialogName = "fork" | "branch" | "search" | "continue" | "tensorboard" | "edit" | "retain" | "register";

export interface ExperimentDialogProps {
  experiment: Experiment;
  trials: Trial[];
  /** The run that the page shows. */
  trial: Trial | undefined;
  onClose(): void;
}

const DIALOGS: Record<DialogName, ComponentType<ExperimentDialogProps>> = {
  fork: later(() => import("./dialogs/ForkDialog")),
  branch: later(() => import("./dialogs/BranchDialog")),
  search: later(() => import("./dialogs/SearchDialog")),
  continue: later(() => import("./dialogs/ContinueDialog")),
  tensorboard: later(() => import("./dialogs/TensorBoardDialog")),
  edit: later(() => import("./dialogs/EditDialog")),
  retain: later(() => import("./dialogs/RetainDialog")),
  register: later(() => import("./dialogs/RegisterBestDialog")),
};

/** The dialog that `?dialog=` names; each is loaded when it is first opened. */
export function ExperimentDialogs(props: Omit<ExperimentDialogProps, "onClose">) {
  const [query, setQuery] = useSearchParams();
  const name = query.get("dialog");
  const Dialog = name && name in DIALOGS ? DIALOGS[name as DialogName] : undefined;
  if (!Dialog || (name === "branch" && !props.trial)) return null;
  const close = () => {
    const next = new URLSearchParams(query);
    next.delete("dialog");
    next.delete("from");
    setQuery(next, { replace: true });
  };
  return (
    <Dialog {...props} onClose={close} />
  );
}
