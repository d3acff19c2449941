/** Agents, slots, pools and queues. */
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "../keys";
import { usePollInterval, useTopic } from "../live";

export type Agent = Schemas["Agent"];
export type Slot = Schemas["Slot"];
export type Pool = Schemas["ResourcePool"];
export type Job = Schemas["Job"];

const SLOW_POLL_MS = 10_000;
const QUEUE_PAGE = 2000;

export function useAgents() {
  const cache = useQueryClient();
  const poll = usePollInterval(SLOW_POLL_MS);
  useTopic("agents", () => {
    void cache.invalidateQueries({ queryKey: keys.agents() });
    void cache.invalidateQueries({ queryKey: keys.pools(), exact: true });
  });
  return useQuery({
    queryKey: keys.agents(),
    queryFn: async () =>
      (await answer(api.GET("/api/v1/agents", { params: { query: { limit: -1 } } }))).agents ?? [],
    refetchInterval: poll,
  });
}

export function usePools() {
  const poll = usePollInterval(SLOW_POLL_MS);
  return useQuery({
    queryKey: keys.pools(),
    queryFn: async () =>
      (await answer(api.GET("/api/v1/resource-pools", { params: { query: { limit: -1 } } })))
        .resourcePools ?? [],
    refetchInterval: poll || 30_000,
  });
}

export interface Queue {
  jobs: Job[];
  total: number;
}

export function useQueue(pool: string) {
  const cache = useQueryClient();
  const poll = usePollInterval(5000);
  useTopic(`queue:${pool}`, () => {
    void cache.invalidateQueries({ queryKey: keys.queue(pool) });
  });
  return useQuery({
    queryKey: keys.queue(pool),
    queryFn: async (): Promise<Queue> => {
      const query = { resourcePool: pool, limit: QUEUE_PAGE };
      const got = await answer(api.GET("/api/v1/job-queues-v2", { params: { query } }));
      // Hidden jobs have no id: their place names them.
      const jobs = (got.jobs ?? []).map(
        (each, place) => each.full ?? ({ ...each.limited, jobId: `hidden job ${place + 1}` } as Job),
      );
      return { jobs, total: got.pagination?.total ?? jobs.length };
    },
    refetchInterval: poll || 15_000,
  });
}

export function useQueueStats() {
  return useQuery({
    queryKey: ["queue-stats"],
    queryFn: async () => (await answer(api.GET("/api/v1/job-queues/stats", {}))).results ?? [],
    refetchInterval: 30_000,
  });
}

export function slotsOf(agent: Agent): Slot[] {
  return Object.values(agent.slots ?? {}).sort((a, b) => Number(a.id) - Number(b.id));
}

export type SlotUse = "free" | "busy" | "draining" | "disabled";

export function slotUse(slot: Slot, agent: Agent): SlotUse {
  const enabled = slot.enabled && agent.enabled;
  if (slot.container) return slot.draining || agent.draining || !enabled ? "draining" : "busy";
  return enabled ? "free" : "disabled";
}

/** The word of an enum of the wire: `TYPE_CPU` → `CPU`. */
export function enumWord(value: string | undefined, prefix: RegExp): string {
  return (value ?? "").replace(prefix, "").replace(/_/g, " ").toLowerCase();
}

/** The page of a job's thing, and the word for its kind. */
export function jobPlace(job: Job): { to: string; kind: string } {
  const kind = enumWord(job.type, /^TYPE_/);
  if (kind === "experiment") return { to: `/experiments/${job.entityId}`, kind };
  return { to: `/${kind.replace(/ /g, "-")}/${job.entityId ?? job.jobId}/logs`, kind };
}
