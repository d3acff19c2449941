/** Why a job waits: the decision of the scheduler, as it was recorded. */
import { useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

/** A task that is ahead, or whose slots come free; of a hidden one, the texts are empty. */
export interface Holder {
  allocationId: string;
  jobId: string;
  slots: number;
  name?: string;
  username?: string;
  taskId?: string;
  trialId?: number;
  experimentId?: number;
}

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
    ahead: (Holder & { priority: number })[];
    next: (Holder & { agents: string[]; isLeaving: boolean; aboutAt?: string })[];
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
