import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { answer, api } from "@/api/client";
import { messageOf } from "@/api/errors";
import { registerCheckpoint } from "@/data/checkpoints";
import { keys } from "@/data/keys";
import { Button } from "@/ui/button/Button";
import { Select, TextField } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { Dialog } from "@/ui/overlay/Dialog";

const NEW = "";

/** Registers a checkpoint as the next version of a model, or of a new one. */
export function RegisterDialog({ uuid, onClose }: { uuid: string; onClose(): void }) {
  const cache = useQueryClient();
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
  const [error, setError] = useState("");
  const submit = async () => {
    setError("");
    try {
      let target = model;
      if (target === NEW) {
        const made = await answer(api.POST("/api/v1/models", { body: { name: created } }));
        target = made.model?.name ?? created;
      }
      const version = await registerCheckpoint(target, uuid, name);
      toast.done(`Registered as version ${version} of ${target}`);
      await cache.invalidateQueries({ queryKey: keys.models() });
      onClose();
      await navigate(`/models/${encodeURIComponent(target)}`);
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Register as a model version"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            disabledReason={model === NEW && !created.trim() ? "Name the new model." : undefined}
            onClick={() => void submit()}
          >
            Register
          </Button>
        </>
      }
    >
      <div className="stack">
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
          <TextField
            label="Name of the new model"
            value={created}
            onChange={(event) => setCreated(event.target.value)}
          />
        )}
        <TextField
          label="Name of the version (optional)"
          value={name}
          error={error || undefined}
          onChange={(event) => setName(event.target.value)}
        />
      </div>
    </Dialog>
  );
}
