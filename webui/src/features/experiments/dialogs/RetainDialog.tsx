import { useState } from "react";

import { answer, api } from "@/api/client";
import { messageOf } from "@/api/errors";
import { Button } from "@/ui/button/Button";
import { Checkbox, TextField } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { Dialog } from "@/ui/overlay/Dialog";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

const FOREVER = -1;

/** Days for which the logs of the experiment's trials are kept after their end. */
export default function RetainDialog({ experiment, onClose }: ExperimentDialogProps) {
  const [days, setDays] = useState("30");
  const [forever, setForever] = useState(false);
  const [error, setError] = useState("");
  const id = experiment.id ?? 0;
  const wrong = !forever && !/^\d+$/.test(days.trim());
  const save = async () => {
    try {
      await answer(
        api.PUT("/api/v1/experiments/{experiment_id}/retain_logs", {
          params: { path: { experiment_id: id } },
          body: { experimentId: id, numDays: forever ? FOREVER : Number(days) },
        }),
      );
      toast.done("The logs are kept");
      onClose();
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Keep the logs of experiment ${id}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            disabledReason={wrong ? "Give a whole number of days." : undefined}
            onClick={() => void save()}
          >
            Save
          </Button>
        </>
      }
    >
      <div className="stack">
        <Checkbox label="Keep them forever" checked={forever} onValue={setForever} />
        <TextField
          label="Days after the end"
          inputMode="numeric"
          disabled={forever}
          value={days}
          error={error || undefined}
          onChange={(event) => setDays(event.target.value)}
        />
      </div>
    </Dialog>
  );
}
