import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "@/api/client";
import { messageOf } from "@/api/errors";
import { keys } from "@/data/keys";
import { Button } from "@/ui/button/Button";
import { TextArea, TextField } from "@/ui/field/Field";
import { Dialog } from "@/ui/overlay/Dialog";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

export default function EditDialog({ experiment, onClose }: ExperimentDialogProps) {
  const cache = useQueryClient();
  const id = experiment.id ?? 0;
  const [name, setName] = useState(experiment.name ?? "");
  const [description, setDescription] = useState(experiment.description ?? "");
  const [labels, setLabels] = useState((experiment.labels ?? []).join(", "));
  const [error, setError] = useState("");
  const save = async () => {
    try {
      const body = {
        id,
        name,
        description,
        labels: labels.split(",").map((each) => each.trim()).filter(Boolean),
      };
      await answer(
        api.PATCH("/api/v1/experiments/{experiment.id}", {
          params: { path: { "experiment.id": id } },
          body,
        }),
      );
      await cache.invalidateQueries({ queryKey: keys.experiment(id) });
      onClose();
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Edit experiment ${id}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            disabledReason={name.trim() ? undefined : "An experiment needs a name."}
            onClick={() => void save()}
          >
            Save
          </Button>
        </>
      }
    >
      <div className="stack">
        <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} />
        <TextArea
          label="Description"
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
        <TextField
          label="Tags"
          hint="Separated by commas"
          value={labels}
          error={error || undefined}
          onChange={(event) => setLabels(event.target.value)}
        />
      </div>
    </Dialog>
  );
}
