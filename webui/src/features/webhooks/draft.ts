/** A webhook as a person fills it in. */
import type { Webhook } from "@/data/webhooks";

export interface Draft {
  name: string;
  url: string;
  /** 0 is the whole cluster. */
  workspaceId: number;
  slack: boolean;
  /** Only experiments that name the webhook in their configuration. */
  specific: boolean;
  completed: boolean;
  failed: boolean;
  custom: boolean;
  regex: string;
}

export function urlRefusal(url: string): string | undefined {
  try {
    const { protocol } = new URL(url.trim());
    if (protocol === "http:" || protocol === "https:") return undefined;
  } catch {
    // Not a URL at all.
  }
  return "The URL starts with https:// or http://.";
}

/** Why the draft cannot be sent. */
export function refusalOf(draft: Draft): string | undefined {
  if (!draft.name.trim()) return "A webhook needs a name.";
  const url = urlRefusal(draft.url);
  if (url) return url;
  return triggersOf(draft).length > 0 ? undefined : "Choose at least one trigger.";
}

export function toWebhook(draft: Draft): Webhook {
  return {
    name: draft.name.trim(),
    url: draft.url.trim(),
    ...(draft.workspaceId ? { workspaceId: draft.workspaceId } : {}),
    mode: draft.specific ? "WEBHOOK_MODE_SPECIFIC" : "WEBHOOK_MODE_WORKSPACE",
    webhookType: draft.slack ? "WEBHOOK_TYPE_SLACK" : "WEBHOOK_TYPE_DEFAULT",
    triggers: triggersOf(draft),
  };
}

function triggersOf(draft: Draft): NonNullable<Webhook["triggers"]> {
  const state = (name: string) => ({
    triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE" as const,
    condition: { state: name },
  });
  return [
    ...(draft.completed ? [state("COMPLETED")] : []),
    ...(draft.failed ? [state("ERROR")] : []),
    ...(draft.regex.trim()
      ? [{ triggerType: "TRIGGER_TYPE_TASK_LOG" as const, condition: { regex: draft.regex.trim() } }]
      : []),
    ...(draft.custom && draft.specific
      ? [{ triggerType: "TRIGGER_TYPE_CUSTOM" as const, condition: {} }]
      : []),
  ];
}
