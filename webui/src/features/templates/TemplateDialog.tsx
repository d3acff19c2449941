import { useState } from "react";

import { createTemplate, replaceConfig, templatesKey, type Template } from "@/data/configs/templates";
import { parseObject, toYaml } from "@/data/forms/yaml";
import { useRights } from "@/data/permissions/permissions";
import { useWorkspaces } from "@/data/workspaces";
import { Select, TextField } from "@/ui/field/Field";
import { YamlField } from "@/ui/field/YamlField";
import { FormDialog } from "@/ui/overlay/FormDialog";
import { Button } from "@/ui/button/Button";
import { Dialog } from "@/ui/overlay/Dialog";

/** Creates a template, or shows one and edits it where the user may. */
export function TemplateDialog({
  template,
  workspaceId,
  onClose,
}: {
  template?: Template;
  workspaceId: number | undefined;
  onClose(): void;
}) {
  const { may } = useRights();
  const stored = toYaml(template?.config);
  const places = (useWorkspaces().data ?? []).filter(
    (each) => !each.archived && may("PERMISSION_TYPE_CREATE_TEMPLATES", each.id),
  );
  const [name, setName] = useState(template?.name ?? "");
  const [chosen, setChosen] = useState(workspaceId ? String(workspaceId) : "");
  const workspace = chosen || String(places[0]?.id ?? 1);
  const [text, setText] = useState(stored);
  const [refused, setRefused] = useState("");
  const parsed = parseObject(text);
  const title = template ? `Template ${template.name}` : "New template";
  if (template && !may("PERMISSION_TYPE_UPDATE_TEMPLATES", template.workspaceId))
    return (
      <Dialog open onClose={onClose} title={title} width={720} footer={<Button onClick={onClose}>Close</Button>}>
        <YamlField label="Configuration (YAML)" rows={18} value={stored} readOnly />
      </Dialog>
    );
  const submit = async () => {
    const config = "value" in parsed ? parsed.value : {};
    if (template) await replaceConfig(template.name ?? "", config);
    else await createTemplate(name.trim(), Number(workspace), config);
  };
  return (
    <FormDialog
      title={title}
      action={template ? "Save" : "Create"}
      width={720}
      unsaved={text !== stored}
      keys={[templatesKey]}
      refusal={
        !name.trim()
          ? "A template needs a name."
          : "error" in parsed
            ? "The configuration is not valid YAML."
            : template && text === stored
              ? "Nothing has changed."
              : undefined
      }
      onSubmit={submit}
      onClose={onClose}
      onRefused={(message) => {
        const isConfig = message.includes("<template>");
        if (isConfig) setRefused(message);
        return isConfig;
      }}
    >
      {!template && <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} />}
      {!template && (
        <Select
          label="Workspace"
          value={workspace}
          onValue={setChosen}
          options={places.map((each) => ({ value: String(each.id), label: each.name ?? "" }))}
        />
      )}
      <YamlField
        label="Configuration (YAML)"
        rows={16}
        value={text}
        error={refused || undefined}
        onValue={(next) => {
          setText(next);
          setRefused("");
        }}
      />
    </FormDialog>
  );
}
