/** Pools of machines on demand: what they cost, and what they could get. */
import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "../keys";
import type { Pool } from "./queries";

export type Offer = Schemas["PoolOffer"];

/** A pool as the list has it. US dollars an hour; absent where unknown or not set. */
export interface PricedPool extends Pool {
  pricePerHour?: number;
  costPerHour?: number;
  maxCostPerHour?: number;
}

const ON_DEMAND: readonly string[] = ["RESOURCE_POOL_TYPE_AWS", "RESOURCE_POOL_TYPE_GCP"];

export function isOnDemand(pool: Pool): boolean {
  return ON_DEMAND.includes(pool.type ?? "");
}

export function formatDollars(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return `$${value.toFixed(value !== 0 && value < 0.1 ? 4 : 2)}`;
}

/** What the pool could get for a number of slots, in the order of launches. */
export function usePoolOffers(pool: string, slots: number) {
  return useQuery({
    queryKey: keys.poolOffers(pool, slots),
    queryFn: () =>
      answer(
        api.GET("/api/v1/resource-pools/{resource_pool_name}/offers", {
          params: { path: { resource_pool_name: pool }, query: { slots } },
        }),
      ),
    refetchInterval: 30_000,
    placeholderData: (before) => before,
  });
}
