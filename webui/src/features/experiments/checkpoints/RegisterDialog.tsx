import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { answer, api } from "@/api/client";
import { registerCheckpoint } from "@/data/checkpoints";
import { keys } from "@/data/keys";
import { Select, TextField } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { FormDialog } from "@/ui/overlay/FormDialog";

const NEW = "";

/** Registers a checkpoint as the next version of a model, or of a new one. */
export function RegisterDialog({ uuid, onClose }: { uuid: string; onClose(): void }) {
  const navigate = useNavigate();
  const models = useQuery({
    queryKey: keys.models(),
    queryFn: async () =>
      (await answer(api.GET("/api/v1/models", { params: { query: { limit: -1, archived: false } } })))
        .models ?? [],
  }).data;
  const [model, setModel] = useState(NEW);
  const [created, setCreated] = useState("");
  const [name, setName] = useState("");
  const submit = async () => {
    let target = model;
    if (target === NEW) {
      const made = await answer(api.POST("/api/v1/models", { body: { name: created } }));
      target = made.model?.name ?? created;
    }
    const version = await registerCheckpoint(target, uuid, name);
    toast.done(`Registered as version ${version} of ${target}`);
    await navigate(`/models/${encodeURIComponent(target)}`);
  };
  return (
    <FormDialog
      title="Register as a model version"
      action="Register"
      refusal={model === NEW && !created.trim() ? "Name the new model." : undefined}
      keys={[keys.models()]}
      onSubmit={submit}
      onClose={onClose}
    >
      <Select
        label="Model"
        value={model}
        onValue={setModel}
        options={[
          { value: NEW, label: "A new model …" },
          ...(models ?? []).map((each) => ({ value: each.name ?? "", label: each.name ?? "" })),
        ]}
      />
      {model === NEW && (
        <TextField label="Name of the new model" value={created} onChange={(event) => setCreated(event.target.value)} />
      )}
      <TextField label="Name of the version (optional)" value={name} onChange={(event) => setName(event.target.value)} />
    </FormDialog>
  );
}
