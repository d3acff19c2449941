/** The resource pools of a workspace, with the slots that one run or task can get there. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { answer, api } from "@/api/client";

import { keys } from "../keys";
import { useAgents, usePools, slotsOf, type Agent, type Pool } from "./queries";

export interface PoolChoice {
  name: string;
  isDefaultCompute: boolean;
  isDefaultAux: boolean;
  /** Slots of all agents, or of as many as may start; `undefined` while no agent is there. */
  total: number | undefined;
  /** Slots of the largest agent: a notebook, shell or command takes them from one. */
  largest: number | undefined;
  free: number;
}

export function usePoolChoices(workspaceId: number | undefined): PoolChoice[] | undefined {
  const pools = usePools().data;
  const agents = useAgents().data;
  const bound = useQuery({
    queryKey: [...keys.workspace(workspaceId ?? 0), "pools"],
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/workspaces/{workspace_id}/available-resource-pools", {
            params: { path: { workspace_id: workspaceId ?? 0 }, query: { limit: -1 } },
          }),
        )
      ).resourcePools ?? [],
    enabled: workspaceId !== undefined,
  }).data;
  return useMemo(() => pools && agents && poolChoices(pools, agents, bound), [pools, agents, bound]);
}

/** `bound` are the names of the pools that the workspace may use; without it all are offered. */
export function poolChoices(pools: readonly Pool[], agents: readonly Agent[], bound: readonly string[] | undefined): PoolChoice[] {
  return pools
    .filter((pool) => !bound || bound.includes(pool.name ?? ""))
    .map((pool) => {
      const sizes = agents.filter((agent) => agent.resourcePools?.includes(pool.name ?? "")).map((agent) => slotsOf(agent).length);
      const each = (pool.slotsPerAgent ?? -1) > 0 ? (pool.slotsPerAgent ?? 0) : 0;
      const most = (pool.maxAgents ?? 0) * each;
      const here = sizes.reduce((sum, size) => sum + size, 0);
      const isKnown = sizes.length > 0 || most > 0;
      return {
        name: pool.name ?? "",
        isDefaultCompute: Boolean(pool.defaultComputePool),
        isDefaultAux: Boolean(pool.defaultAuxPool),
        total: isKnown ? Math.max(here, most) : undefined,
        largest: isKnown ? Math.max(0, each, ...sizes) : undefined,
        free: Math.max(0, (pool.slotsAvailable ?? 0) - (pool.slotsUsed ?? 0)),
      };
    });
}

/** The pool that a name means; an empty one is the default for so many slots. */
export function chosenPool(choices: readonly PoolChoice[], name: string, slots: number): PoolChoice | undefined {
  if (name) return choices.find((each) => each.name === name);
  return choices.find((each) => (slots > 0 ? each.isDefaultCompute : each.isDefaultAux));
}

/** Limits that a person reads before typing a number of slots. */
export function poolHint(pool: PoolChoice | undefined, onOneAgent: boolean): string {
  if (!pool) return "";
  if (pool.total === undefined) return `Pool ${pool.name} has no agent yet.`;
  const total = `Pool ${pool.name} has ${count(pool.total)}, ${pool.free} free`;
  return onOneAgent ? `${total}, at most ${pool.largest} on one agent.` : `${total}.`;
}

/** Why so many slots cannot be had in the pool. */
export function slotsProblem(pool: PoolChoice | undefined, slots: unknown, onOneAgent: boolean): string | undefined {
  if (typeof slots !== "number" || !pool) return undefined;
  const most = onOneAgent ? pool.largest : pool.total;
  if (most === undefined || slots <= most) return undefined;
  return onOneAgent
    ? `No agent of pool ${pool.name} has ${count(slots)}.`
    : `Pool ${pool.name} does not have ${count(slots)}.`;
}

function count(slots: number): string {
  return slots === 1 ? "1 slot" : `${slots} slots`;
}
