/** Webhooks: addresses that hear of experiments, log lines and alerts of scripts. */
import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

export type Webhook = Schemas["Webhook"];
export type Trigger = Schemas["Trigger"];

export const webhooksKey = ["webhooks"] as const;

export function useWebhooks() {
  return useQuery({
    queryKey: webhooksKey,
    queryFn: async () => (await answer(api.GET("/api/v1/webhooks", {}))).webhooks ?? [],
    refetchInterval: 15_000,
  });
}

export async function createWebhook(body: Webhook): Promise<void> {
  await answer(api.POST("/api/v1/webhooks", { body }));
}

export async function patchWebhook(id: number, url: string): Promise<void> {
  await answer(api.PATCH("/api/v1/webhooks/{id}", { params: { path: { id } }, body: { url } }));
}

export async function deleteWebhook(id: number): Promise<void> {
  await answer(api.DELETE("/api/v1/webhooks/{id}", { params: { path: { id } } }));
}

export async function testWebhook(id: number): Promise<void> {
  await answer(api.POST("/api/v1/webhooks/{id}/test", { params: { path: { id } } }));
}

/** A trigger as a person reads it. */
export function triggerWord(trigger: Trigger): string {
  const condition = (trigger.condition ?? {}) as { state?: string; regex?: string };
  switch (trigger.triggerType) {
    case "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE":
      return condition.state === "ERROR" ? "Failed" : condition.state === "COMPLETED" ? "Completed" : String(condition.state);
    case "TRIGGER_TYPE_TASK_LOG":
      return `Log line matches ${condition.regex ?? ""}`;
    case "TRIGGER_TYPE_CUSTOM":
      return "Alert of a script";
    default:
      return "Metric threshold";
  }
}
