import { useState } from "react";

import { useRecent } from "@/data/overview";
import { useUser } from "@/data/session";
import { idsIn } from "@/data/tensorboards";
import { Button } from "@/ui/button/Button";
import { Checkbox, TextField } from "@/ui/field/Field";
import { Dialog } from "@/ui/overlay/Dialog";
import { StateBadge } from "@/ui/state/StateBadge";
import { Time } from "@/ui/text/Time";

import styles from "./Launch.module.css";
import { useTensorBoard } from "./useTensorBoard";

const MAX_RECENT = 10;

/** A TensorBoard of experiments and runs by their ids; the user's last experiments are offered. */
export default function TensorBoardForm({ onClose }: { onClose(): void }) {
  const user = useUser();
  const open = useTensorBoard();
  const recent = (useRecent(user.id).data ?? []).filter((each) => !each.unmanaged).slice(0, MAX_RECENT);
  const [experiments, setExperiments] = useState("");
  const [runs, setRuns] = useState("");
  const [isBusy, setBusy] = useState(false);
  const chosen = idsIn(experiments);
  const trials = idsIn(runs);
  const wrong = [...chosen.wrong, ...trials.wrong];
  const refusal = isBusy
    ? "The master is asked."
    : wrong.length > 0
      ? "Ids are whole numbers."
      : chosen.ids.length + trials.ids.length === 0
        ? "Choose an experiment or a trial."
        : undefined;
  const submit = async () => {
    setBusy(true);
    const place = recent.find((each) => each.id === chosen.ids[0])?.workspaceId;
    if (!(await open({ experimentIds: chosen.ids, trialIds: trials.ids }, place))) setBusy(false);
  };
  const toggle = (id: number, on: boolean) =>
    setExperiments((on ? [...chosen.ids, id] : chosen.ids.filter((each) => each !== id)).join(", "));
  return (
    <Dialog
      open
      width={560}
      onClose={onClose}
      title="Open TensorBoard"
      description="One that already shows the same experiments and trials is used again."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabledReason={refusal} onClick={() => void submit()}>
            Open
          </Button>
        </>
      }
    >
      <div className="stack">
        <TextField
          label="Experiments"
          placeholder="12, 15"
          value={experiments}
          error={idError(chosen.wrong)}
          inputMode="numeric"
          autoComplete="off"
          onChange={(event) => setExperiments(event.target.value)}
        />
        <TextField
          label="Trials"
          placeholder="Single trials of experiments: 40, 41"
          value={runs}
          error={idError(trials.wrong)}
          inputMode="numeric"
          autoComplete="off"
          onChange={(event) => setRuns(event.target.value)}
        />
        {recent.length > 0 && (
          <fieldset className={styles.recent}>
            <legend>Your last experiments</legend>
            {recent.map((each) => (
              <div key={each.id} className={styles.experiment}>
                <Checkbox
                  label={
                    <>
                      <span className="number">{each.id}</span> {each.name}
                    </>
                  }
                  checked={chosen.ids.includes(each.id ?? 0)}
                  onValue={(on) => toggle(each.id ?? 0, on)}
                />
                <StateBadge state={each.state} plain />
                <span className="hint">
                  <Time at={each.startTime} />
                </span>
              </div>
            ))}
          </fieldset>
        )}
      </div>
    </Dialog>
  );
}

function idError(wrong: readonly string[]): string | undefined {
  return wrong[0] === undefined ? undefined : `“${wrong[0].slice(0, 40)}” is no id.`;
}
