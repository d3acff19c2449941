import { answer, api, type Schemas } from "@/api/client";

export async function switchAgent(id: string, enable: boolean, drain = false): Promise<void> {
  const params = { params: { path: { agent_id: id } } };
  if (enable) await answer(api.POST("/api/v1/agents/{agent_id}/enable", params));
  else
    await answer(
      api.POST("/api/v1/agents/{agent_id}/disable", { ...params, body: { agentId: id, drain } }),
    );
}

export async function switchSlot(agent: string, slot: string, enable: boolean): Promise<void> {
  const params = { params: { path: { agent_id: agent, slot_id: slot } } };
  if (enable) await answer(api.POST("/api/v1/agents/{agent_id}/slots/{slot_id}/enable", params));
  else
    await answer(
      api.POST("/api/v1/agents/{agent_id}/slots/{slot_id}/disable", {
        ...params,
        body: { agentId: agent, slotId: slot },
      }),
    );
}

export async function controlJob(change: Schemas["QueueControl"]): Promise<void> {
  await answer(api.POST("/api/v1/job-queues", { body: { updates: [change] } }));
}
