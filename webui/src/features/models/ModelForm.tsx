import { useState } from "react";
import { useNavigate } from "react-router";

import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { createModel, modelPath, patchModel, type Model } from "@/data/registry/models";
import { useWorkspaces } from "@/data/workspaces";
import { Select, TextArea, TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

import { splitTags } from "./filter";

/** Creates a model, or edits the name, the description and the tags of the given one. */
export function ModelForm({
  model,
  workspaceId,
  onClose,
}: {
  model?: Model;
  workspaceId?: number | undefined;
  onClose(): void;
}) {
  const navigate = useNavigate();
  const { may } = useRights();
  const workspaces = (useWorkspaces().data ?? []).filter(
    (each) => !each.archived && may("PERMISSION_TYPE_CREATE_MODEL_REGISTRY", each.id),
  );
  const [name, setName] = useState(model?.name ?? "");
  const [description, setDescription] = useState(model?.description ?? "");
  const [tags, setTags] = useState((model?.labels ?? []).join(", "));
  const [chosen, setChosen] = useState(workspaceId ? String(workspaceId) : "");
  const workspace = chosen || String(workspaces[0]?.id ?? 1);
  const submit = async () => {
    const shared = { name: name.trim(), description, labels: splitTags(tags) };
    if (model) {
      await patchModel(model.name ?? "", shared);
      if (shared.name !== model.name) await navigate(modelPath(shared.name), { replace: true });
      return;
    }
    const made = await createModel({ ...shared, workspaceId: Number(workspace) });
    await navigate(modelPath(made));
  };
  return (
    <FormDialog
      title={model ? `Edit model ${model.name}` : "New model"}
      action={model ? "Save" : "Create"}
      refusal={name.trim() ? undefined : "A model needs a name."}
      keys={[keys.models()]}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} />
      {!model && (
        <Select
          label="Workspace"
          value={workspace}
          onValue={setChosen}
          options={workspaces.map((each) => ({ value: String(each.id), label: each.name ?? "" }))}
        />
      )}
      <TextArea label="Description" value={description} onChange={(event) => setDescription(event.target.value)} />
      <TextField label="Tags" hint="Separated by commas" value={tags} onChange={(event) => setTags(event.target.value)} />
    </FormDialog>
  );
}
