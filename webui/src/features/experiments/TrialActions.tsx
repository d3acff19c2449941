import { useSearchParams } from "react-router";

import type { Experiment, Trial } from "@/data/experiments/queries";
import { useRights } from "@/data/permissions/permissions";
import { useTensorBoard } from "@/features/launch/useTensorBoard";
import { IconButton } from "@/ui/button/Button";
import { ButtonLink } from "@/ui/button/ButtonLink";
import { isEmptyMenu, Menu, type MenuEntry } from "@/ui/overlay/Menu";

import { ExperimentDialogs, type DialogName } from "./ExperimentDialogs";
import { startMenu } from "./startMenu";

/** The acts of a run that is part of a search. The open dialog is in the URL. */
export function TrialActions({ experiment, trial }: { experiment: Experiment; trial: Trial }) {
  const rights = useRights();
  const openTensorBoard = useTensorBoard();
  const [query, setQuery] = useSearchParams();
  const open = (name: DialogName) => {
    const next = new URLSearchParams(query);
    next.set("dialog", name);
    setQuery(next);
  };
  const id = trial.id ?? 0;
  const isPart = experiment.searcherType !== "single";
  const items: MenuEntry[] = [
    ...startMenu({ experiment, trials: [trial], trial, isPart, rights, open }),
    "separator",
    rights.may("PERMISSION_TYPE_CREATE_NSC", experiment.workspaceId) && {
      label: "Open TensorBoard",
      icon: "chart",
      disabledReason: experiment.unmanaged ? "TensorBoard is not offered for detached trials." : undefined,
      onSelect: () => void openTensorBoard({ experimentIds: [], trialIds: [id] }, experiment.workspaceId),
    },
  ];
  return (
    <>
      <ButtonLink to={`/compare?runs=${id}`} icon="columns">
        Compare
      </ButtonLink>
      {!isEmptyMenu(items) && (
        <Menu trigger={<IconButton icon="more" label="More actions" look="normal" />} items={items} />
      )}
      <ExperimentDialogs experiment={experiment} trials={[trial]} trial={trial} />
    </>
  );
}
