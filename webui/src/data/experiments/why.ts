/** Why a job waits: the decision of the scheduler, as it was recorded. */
import { useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

export interface Why {
  jobId: string;
  resourcePool: string;
  state: string;
  text: string;
  waiting: number;
  running: number;
  waits?: {
    allocationId: string;
    decidedAt: string;
    waitsSince: string;
    code: string;
    reason: string;
    needsSlots: number;
    isSingleNode: boolean;
    freeSlots: number;
    largestHole: number;
    free: { agent?: string; id?: string; slots?: number }[];
    aheadCount: number;
    ahead: { jobId: string; slots?: number; name?: string }[];
    next: { allocationId: string; jobId: string; slots: number; agents: string[]; isLeaving: boolean }[];
  };
}

export function useWhy(jobId: string | undefined, enabled = true) {
  return useQuery({
    queryKey: ["why", jobId],
    queryFn: () => request<Why>("GET", `/api/v1/job-queues/${encodeURIComponent(jobId ?? "")}/why`),
    enabled: enabled && Boolean(jobId),
    refetchInterval: 3000,
  });
}
