import { useState } from "react";

import { patchWebhook, webhooksKey, type Webhook } from "@/data/webhooks";
import { TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

import { urlRefusal } from "./draft";

/** The URL alone can change; events that still wait are sent to the new one. */
export function UrlForm({ webhook, onClose }: { webhook: Webhook; onClose(): void }) {
  const [url, setUrl] = useState(webhook.url ?? "");
  return (
    <FormDialog
      title={`Edit webhook ${webhook.name}`}
      description="Events that still wait are sent to the new URL."
      action="Save"
      keys={[webhooksKey]}
      refusal={urlRefusal(url)}
      onSubmit={() => patchWebhook(webhook.id ?? 0, url.trim())}
      onClose={onClose}
    >
      <TextField label="URL" type="url" value={url} onChange={(event) => setUrl(event.target.value)} />
    </FormDialog>
  );
}
