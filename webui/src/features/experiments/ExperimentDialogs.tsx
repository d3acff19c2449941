import { lazy, Suspense, type ComponentType } from "react";
import { useSearchParams } from "react-router";

import type { Experiment, Trial } from "@/data/experiments/queries";

export type DialogName = "fork" | "branch" | "search" | "continue" | "tensorboard" | "edit" | "move" | "retain";

export interface ExperimentDialogProps {
  experiment: Experiment;
  trials: Trial[];
  /** The run that the page shows. */
  trial: Trial | undefined;
  onClose(): void;
}

const DIALOGS: Record<DialogName, ComponentType<ExperimentDialogProps>> = {
  fork: lazy(() => import("./dialogs/ForkDialog")),
  branch: lazy(() => import("./dialogs/BranchDialog")),
  search: lazy(() => import("./dialogs/SearchDialog")),
  continue: lazy(() => import("./dialogs/ContinueDialog")),
  tensorboard: lazy(() => import("./dialogs/TensorBoardDialog")),
  edit: lazy(() => import("./dialogs/EditDialog")),
  move: lazy(() => import("./dialogs/MoveDialog")),
  retain: lazy(() => import("./dialogs/RetainDialog")),
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
    <Suspense fallback={null}>
      <Dialog {...props} onClose={close} />
    </Suspense>
  );
}
