import { useMemo, useState } from "react";

import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { useRights } from "@/data/permissions/permissions";
import { deleteWebhook, testWebhook, triggerWord, useWebhooks, webhooksKey, type Webhook } from "@/data/webhooks";
import { useWorkspaces } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { SearchField } from "@/ui/field/SearchField";
import { Page } from "@/ui/layout/Page";
import { Toolbar } from "@/ui/layout/Toolbar";
import { isEmptyMenu, type MenuEntry } from "@/ui/overlay/Menu";
import { confirm } from "@/ui/overlay/confirm";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";

import { UrlForm } from "./UrlForm";
import { WebhookForm } from "./WebhookForm";

/** `/webhooks`. */
export default function WebhooksPage() {
  const query = useWebhooks();
  const { mayAnywhere } = useRights();
  const [creates, setCreates] = useState(false);
  return (
    <Page
      name="Webhooks"
      actions={
        mayAnywhere("PERMISSION_TYPE_EDIT_WEBHOOKS") && (
          <Button look="primary" icon="plus" onClick={() => setCreates(true)}>
            New webhook
          </Button>
        )
      }
    >
      <QueryView query={query} what="the webhooks">
        {(webhooks) => <Listed webhooks={webhooks} />}
      </QueryView>
      {creates && <WebhookForm onClose={() => setCreates(false)} />}
    </Page>
  );
}

function Listed({ webhooks }: { webhooks: Webhook[] }) {
  const act = useAct();
  const { may } = useRights();
  const [text, setText] = useParam("q", "");
  const [edited, setEdited] = useState<Webhook>();
  const columns = useColumns();
  const word = text.trim().toLowerCase();
  const shown = webhooks.filter((each) => `${each.name} ${each.url}`.toLowerCase().includes(word));
  const remove = async (each: Webhook) => {
    const yes = await confirm({
      title: `Delete webhook ${each.name}?`,
      body: `Nothing is sent to ${each.url} any more. This cannot be undone.`,
      action: "Delete",
      danger: true,
    });
    if (yes)
      await act(() => deleteWebhook(each.id ?? 0), {
        done: `Deleted webhook ${each.name}`,
        failed: `Webhook ${each.name}`,
        keys: [webhooksKey],
      });
  };
  const menuOf = (each: Webhook): MenuEntry[] => {
    if (!may("PERMISSION_TYPE_EDIT_WEBHOOKS", each.workspaceId || undefined)) return [];
    return [
      {
        label: "Send a test",
        icon: "play",
        onSelect: () =>
          void act(() => testWebhook(each.id ?? 0), {
            done: `${each.name} took the test`,
            failed: `The test of ${each.name} failed`,
            keys: [],
          }),
      },
      { label: "Edit the URL …", icon: "edit", onSelect: () => setEdited(each) },
      "separator",
      { label: "Delete …", icon: "trash", danger: true, onSelect: () => void remove(each) },
    ];
  };
  return (
    <div className="stack">
      <Toolbar end={plural(shown.length, "webhook")}>
        <SearchField label="Filter by name or URL" value={text} onValue={setText} />
      </Toolbar>
      <DataTable
        label="Webhooks"
        rows={shown}
        rowKey={(each) => each.id ?? 0}
        rowName={(each) => each.name ?? ""}
        columns={columns}
        {...(shown.every((each) => isEmptyMenu(menuOf(each))) ? {} : { rowMenu: menuOf })}
        empty={
          webhooks.length === 0 ? (
            <Empty title="No webhooks yet">
              A webhook posts to a URL when an experiment completes or fails, when a log line matches, or
              when a script raises an alert.
            </Empty>
          ) : (
            <Empty title="No webhook matches">Change the text.</Empty>
          )
        }
      />
      {edited && <UrlForm webhook={edited} onClose={() => setEdited(undefined)} />}
    </div>
  );
}

function useColumns(): Column<Webhook>[] {
  const workspaces = useWorkspaces().data;
  return useMemo<Column<Webhook>[]>(() => {
    const placeOf = (each: Webhook) =>
      each.workspaceId ? (workspaces?.find(({ id }) => id === each.workspaceId)?.name ?? `workspace ${each.workspaceId}`) : "Whole cluster";
    const modeOf = (each: Webhook) =>
      each.mode === "WEBHOOK_MODE_SPECIFIC" ? "That name it" : "All";
    return [
      { id: "name", header: "Name", width: 180, pin: true, sortable: true, value: (each) => each.name, render: (each) => each.name },
      { id: "url", header: "URL", width: 280, grow: true, sortable: true, value: (each) => each.url, render: (each) => <span className="mono">{each.url}</span> },
      { id: "triggers", header: "Triggers", width: 240, type: "list", value: (each) => (each.triggers ?? []).map(triggerWord).join(", "), render: (each) => (each.triggers ?? []).map(triggerWord).join(", ") },
      { id: "scope", header: "Scope", width: 140, sortable: true, value: placeOf, render: placeOf },
      { id: "mode", header: "Experiments", width: 120, sortable: true, value: modeOf, render: modeOf },
      { id: "type", header: "Format", width: 100, sortable: true, value: (each) => each.webhookType, render: (each) => (each.webhookType === "WEBHOOK_TYPE_SLACK" ? "Slack" : "JSON") },
    ];
  }, [workspaces]);
}
