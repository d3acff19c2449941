import { useState } from "react";

import { createWebhook, webhooksKey } from "@/data/webhooks";
import { useRights } from "@/data/permissions/permissions";
import { useWorkspaces } from "@/data/workspaces";
import { Checkbox, Segments, Select, TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

import { refusalOf, toWebhook, type Draft } from "./draft";
import styles from "./Webhooks.module.css";

const EMPTY: Draft = {
  name: "",
  url: "",
  workspaceId: 0,
  slack: false,
  specific: false,
  completed: true,
  failed: true,
  custom: false,
  regex: "",
};

export function WebhookForm({ onClose }: { onClose(): void }) {
  const { may } = useRights();
  const workspaces = (useWorkspaces().data ?? []).filter(
    (each) => !each.archived && may("PERMISSION_TYPE_EDIT_WEBHOOKS", each.id),
  );
  const global = may("PERMISSION_TYPE_EDIT_WEBHOOKS");
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, workspaceId: global ? 0 : (workspaces[0]?.id ?? 0) });
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }));
  return (
    <FormDialog
      title="New webhook"
      action="Create"
      width={560}
      keys={[webhooksKey]}
      refusal={refusalOf(draft)}
      onSubmit={() => createWebhook(toWebhook(draft))}
      onClose={onClose}
    >
      <TextField label="Name" value={draft.name} onChange={(event) => change({ name: event.target.value })} />
      <TextField label="URL" type="url" placeholder="https://" value={draft.url} onChange={(event) => change({ url: event.target.value })} />
      <Select
        label="Scope"
        value={String(draft.workspaceId)}
        onValue={(value) => change({ workspaceId: Number(value) })}
        options={[
          ...(global ? [{ value: "0", label: "Whole cluster" }] : []),
          ...workspaces.map((each) => ({ value: String(each.id), label: each.name ?? "" })),
        ]}
      />
      <fieldset className={styles.group}>
        <legend>Experiments</legend>
        <Segments
          label="Experiments"
          value={draft.specific ? "specific" : "all"}
          onValue={(value) => change({ specific: value === "specific" })}
          options={[
            { value: "all", label: "All of the scope" },
            { value: "specific", label: "Those that name it" },
          ]}
        />
        {draft.specific && (
          <p className="hint">
            An experiment names it in <code>integrations.webhooks.webhook_name</code> of its configuration.
          </p>
        )}
      </fieldset>
      <fieldset className={styles.group}>
        <legend>Triggers</legend>
        <Checkbox label="An experiment completes" checked={draft.completed} onValue={(completed) => change({ completed })} />
        <Checkbox label="An experiment fails" checked={draft.failed} onValue={(failed) => change({ failed })} />
        {draft.specific && (
          <Checkbox label="A script raises an alert" checked={draft.custom} onValue={(custom) => change({ custom })} />
        )}
        <div className={styles.full}>
          <TextField
            label="A log line matches (regular expression)"
            placeholder="CUDA out of memory"
            value={draft.regex}
            onChange={(event) => change({ regex: event.target.value })}
          />
        </div>
      </fieldset>
      <fieldset className={styles.group}>
        <legend>Format</legend>
        <Segments
          label="Format"
          value={draft.slack ? "slack" : "json"}
          onValue={(value) => change({ slack: value === "slack" })}
          options={[
            { value: "json", label: "JSON" },
            { value: "slack", label: "Slack" },
          ]}
        />
      </fieldset>
    </FormDialog>
  );
}
