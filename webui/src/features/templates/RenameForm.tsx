import { useState } from "react";

import { renameTemplate, templatesKey, type Template } from "@/data/configs/templates";
import { TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

export function RenameForm({ template, onClose }: { template: Template; onClose(): void }) {
  const [name, setName] = useState(template.name ?? "");
  return (
    <FormDialog
      title={`Rename template ${template.name}`}
      description="Scripts that submit with the old name are refused from then on."
      action="Rename"
      keys={[templatesKey]}
      refusal={!name.trim() ? "A template needs a name." : name === template.name ? "Nothing has changed." : undefined}
      onSubmit={() => renameTemplate(template.name ?? "", name.trim())}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} />
    </FormDialog>
  );
}
