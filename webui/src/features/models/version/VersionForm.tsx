import { useState } from "react";

import { keys } from "@/data/keys";
import { patchVersion, type Version } from "@/data/registry/models";
import { TextArea, TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

import { splitTags } from "../filter";

export function VersionForm({ model, version, onClose }: { model: string; version: Version; onClose(): void }) {
  const [name, setName] = useState(version.name ?? "");
  const [comment, setComment] = useState(version.comment ?? "");
  const [tags, setTags] = useState((version.labels ?? []).join(", "));
  return (
    <FormDialog
      title={`Edit version ${version.version} of ${model}`}
      action="Save"
      keys={[keys.models()]}
      onSubmit={() => patchVersion(model, version.version ?? 0, { name: name.trim(), comment, labels: splitTags(tags) })}
      onClose={onClose}
    >
      <TextField label="Name" hint="An alias such as champion; the number stays." value={name} onChange={(event) => setName(event.target.value)} />
      <TextArea label="Description" value={comment} onChange={(event) => setComment(event.target.value)} />
      <TextField label="Tags" hint="Separated by commas" value={tags} onChange={(event) => setTags(event.target.value)} />
    </FormDialog>
  );
}
