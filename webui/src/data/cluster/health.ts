/** What the master reports of itself, and what the cluster has used today. */
import { useQuery } from "@tanstack/react-query";

import { answer, api, request } from "@/api/client";
import { serverNow } from "@/api/clock";
import { ApiError } from "@/api/errors";

const POLL_MS = 10_000;
const USAGE_POLL_MS = 60_000;

/** `GET /health`; `effects` only of the master that leads. */
export interface MasterHealth {
  status: "up" | "down";
  database: "up" | "down";
  resource_managers: { cluster_name: string; status: string }[];
  effects?: { status: "up" | "degraded"; oldest_age_s: number };
}

export function useMasterHealth() {
  return useQuery({
    queryKey: ["master-health"],
    queryFn: () => request<MasterHealth>("GET", "/health"),
    refetchInterval: POLL_MS,
  });
}

/** Slot hours since the last midnight (UTC) by user, the most first; `null` for who may not see them. */
export function useUsageToday() {
  return useQuery({
    queryKey: ["usage-today"],
    queryFn: async () => {
      const now = new Date(serverNow()).toISOString();
      const query = { timestampAfter: `${now.slice(0, 10)}T00:00:00Z`, timestampBefore: now, by: "user" };
      try {
        const { entries = [] } = await answer(api.GET("/api/v1/resources/costs", { params: { query } }));
        return [...entries].sort((a, b) => (b.slotHours ?? 0) - (a.slotHours ?? 0));
      } catch (error) {
        if (error instanceof ApiError && error.status === 403) return null;
        throw error;
      }
    },
    refetchInterval: USAGE_POLL_MS,
  });
}
