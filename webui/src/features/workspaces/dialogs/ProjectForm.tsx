import { useState } from "react";

import { keys } from "@/data/keys";
import { createProject, patchProject, type Project } from "@/data/workspace/queries";
import { TextArea, TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

/** Creates a project in a workspace, or edits the given one. */
export function ProjectForm({
  project,
  workspaceId,
  onClose,
}: {
  project?: Project;
  workspaceId: number;
  onClose(): void;
}) {
  const [name, setName] = useState(project?.name ?? "");
  const [description, setDescription] = useState(project?.description ?? "");
  const [key, setKey] = useState(project?.key ?? "");
  const submit = async () => {
    const shared = { name: name.trim(), description };
    if (project)
      await patchProject(project.id ?? 0, { ...shared, ...(key === project.key ? {} : { key }) });
    else await createProject(workspaceId, { ...shared, workspaceId, ...(key ? { key } : {}) });
  };
  return (
    <FormDialog
      title={project ? `Edit project ${project.name}` : "New project"}
      action={project ? "Save" : "Create"}
      refusal={name.trim() ? undefined : "A project needs a name."}
      keys={[keys.workspaces(), ["projects"]]}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} />
      <TextArea label="Description" value={description} onChange={(event) => setDescription(event.target.value)} />
      <TextField
        label="Key"
        hint="At most 5 letters and digits; the ids of trials start with it. Empty: made of the name."
        value={key}
        maxLength={5}
        onChange={(event) => setKey(event.target.value.toUpperCase())}
      />
    </FormDialog>
  );
}
