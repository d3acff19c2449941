import { useState } from "react";

import { answer, api } from "@/api/client";
import { Checkbox, TextField } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { FormDialog } from "@/ui/overlay/FormDialog";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

const FOREVER = -1;

/** Days for which the logs of the experiment's trials are kept after their end. */
export default function RetainDialog({ experiment, onClose }: ExperimentDialogProps) {
  const [days, setDays] = useState("30");
  const [forever, setForever] = useState(false);
  const id = experiment.id ?? 0;
  const wrong = !forever && !/^\d+$/.test(days.trim());
  const save = async () => {
    await answer(
      api.PUT("/api/v1/experiments/{experiment_id}/retain_logs", {
        params: { path: { experiment_id: id } },
        body: { experimentId: id, numDays: forever ? FOREVER : Number(days) },
      }),
    );
    toast.done("The logs are kept");
  };
  return (
    <FormDialog
      title={`Keep the logs of experiment ${id}`}
      action="Save"
      refusal={wrong ? "Give a whole number of days." : undefined}
      keys={[]}
      onSubmit={save}
      onClose={onClose}
    >
      <Checkbox label="Keep them forever" checked={forever} onValue={setForever} />
      <TextField
        label="Days after the end"
        inputMode="numeric"
        disabled={forever}
        value={days}
        onChange={(event) => setDays(event.target.value)}
      />
    </FormDialog>
  );
}
