import { useSearchParams } from "react-router";

import { isSearch } from "@/data/experiments/facts";
import type { Experiment, Trial } from "@/data/experiments/queries";
import { useRights } from "@/data/permissions/permissions";
import { useTensorBoard } from "@/features/launch/useTensorBoard";
import { Button, IconButton } from "@/ui/button/Button";
import { ButtonLink } from "@/ui/button/ButtonLink";
import { isEmptyMenu, Menu, type MenuEntry } from "@/ui/overlay/Menu";

import { ExperimentDialogs, type DialogName } from "./ExperimentDialogs";
import { startButtons, startMenu } from "./startMenu";

/** The acts of a trial: what starts from it as buttons, the rest in the menu. */
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
  const around = { experiment, trials: [trial], trial, isPart: isSearch(experiment), rights };
  const buttons = startButtons(around);
  const items: MenuEntry[] = [
    ...startMenu({ ...around, open }, buttons),
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
      {trial.bestCheckpoint?.uuid && (
        <Button icon="box" title="Register its best checkpoint as a model version" onClick={() => open("register")}>
          Register
        </Button>
      )}
      {buttons.map(({ name, label, icon }) => (
        <Button key={name} icon={icon} onClick={() => open(name)}>
          {label}
        </Button>
      ))}
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
