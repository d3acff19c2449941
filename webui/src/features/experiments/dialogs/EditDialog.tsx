import { useState } from "react";

import { answer, api } from "@/api/client";
import { keys } from "@/data/keys";
import { TextArea, TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

export default function EditDialog({ experiment, onClose }: ExperimentDialogProps) {
  const id = experiment.id ?? 0;
  const [name, setName] = useState(experiment.name ?? "");
  const [description, setDescription] = useState(experiment.description ?? "");
  const [labels, setLabels] = useState((experiment.labels ?? []).join(", "));
  const save = () => {
    const body = {
      id,
      name,
      description,
      labels: labels.split(",").map((each) => each.trim()).filter(Boolean),
    };
    return answer(
      api.PATCH("/api/v1/experiments/{experiment.id}", { params: { path: { "experiment.id": id } }, body }),
    );
  };
  return (
    <FormDialog
      title={`Edit experiment ${id}`}
      action="Save"
      refusal={name.trim() ? undefined : "An experiment needs a name."}
      keys={[keys.experiment(id)]}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} />
      <TextArea label="Description" value={description} onChange={(event) => setDescription(event.target.value)} />
      <TextField label="Tags" hint="Separated by commas" value={labels} onChange={(event) => setLabels(event.target.value)} />
    </FormDialog>
  );
}
