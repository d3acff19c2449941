/** Everything that runs or waits in all pools (`docs/ui-api.md`). */
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { request } from "@/api/client";

import { keys } from "../keys";
import { usePollInterval, useTopic } from "../live";

export interface ListedJob {
  jobId: string;
  kind: string;
  id: string;
  name: string;
  state: "QUEUED" | "SCHEDULED";
  userId: number;
  username: string;
  workspaceId: number;
  resourcePool: string;
  priority: number;
  requestedSlots: number;
  allocatedSlots: number;
  /** -1 where the scheduler knows no order. */
  jobsAhead: number;
  progress: number;
  submittedAt: string | null;
  /** What a waiting one waits for; empty until its pool has decided. */
  reason: string;
}

export interface AllJobs {
  jobs: ListedJob[];
  /** Of all jobs, also of hidden ones and of those beyond the first. */
  total: number;
  hiddenCount: number;
}

export const JOB_KINDS = ["experiment", "command", "notebook", "shell", "tensorboard", "generic"] as const;

export function useAllJobs() {
  const poll = usePollInterval(5000);
  return useQuery({
    queryKey: keys.jobs(),
    queryFn: () => request<AllJobs>("GET", "/api/ui/v1/jobs"),
    refetchInterval: poll || 15_000,
  });
}

/** Reads the jobs again when the queue of a pool changes. */
export function useJobsTopic(pool: string): void {
  const cache = useQueryClient();
  useTopic(`queue:${pool}`, () => void cache.invalidateQueries({ queryKey: keys.jobs() }));
}

export interface JobFilter {
  text: string;
  kind: string;
  /** `running`, `waiting`; empty for both. */
  state: string;
  pool: string;
  /** The id of a user; empty for all. */
  user: string;
}

export function matchingJobs(jobs: readonly ListedJob[], { text, kind, state, pool, user }: JobFilter): ListedJob[] {
  const word = text.trim().toLowerCase();
  return jobs.filter(
    (job) =>
      (!kind || job.kind === kind) &&
      (!state || (job.state === "SCHEDULED") === (state === "running")) &&
      (!pool || job.resourcePool === pool) &&
      (!user || String(job.userId) === user) &&
      (!word || job.name.toLowerCase().includes(word) || job.id.startsWith(word)),
  );
}
