/** The caller's own things: what runs, waits and has failed (`docs/ui-api.md`). */
import { useQuery } from "@tanstack/react-query";

import { answer, api, request } from "@/api/client";
import { ApiError } from "@/api/errors";

import { usePollInterval } from "./live";
import { isFinished, stateFamily } from "./states";

export interface OverviewItem {
  kind: string;
  id: string;
  name: string;
  jobId: string;
  state: string;
  projectId: number;
  resourcePool: string;
  slots: number;
  progress: number;
  startedAt: string | null;
  endedAt: string | null;
  jobsAhead: number;
  reason: string;
}

export interface Overview {
  lastVisitAt: string | null;
  running: OverviewItem[];
  queued: OverviewItem[];
  failures: OverviewItem[];
  runningCount: number;
  queuedCount: number;
  failureCount: number;
}

export interface ActivityDay {
  /** A day of UTC: `2026-01-31`. */
  day: string;
  submitted: number;
  completed: number;
  failed: number;
  slotSeconds: number;
}

export interface Activity {
  lastVisitAt: string | null;
  days: ActivityDay[];
  /** What ended without an error since the last visit. */
  ended: OverviewItem[];
  endedCount: number;
}

const ACTIVITY_POLL_MS = 60_000;

/** `null` for a master without it. */
export function useActivity(userId: number | undefined, days: number) {
  return useQuery({
    queryKey: ["home-activity", userId, days],
    queryFn: async () => {
      try {
        return await request<Activity>("GET", `/api/ui/v1/overview/activity?days=${days}`);
      } catch (error) {
        if (error instanceof ApiError && error.isNotFound) return null;
        throw error;
      }
    },
    refetchInterval: ACTIVITY_POLL_MS,
    staleTime: ACTIVITY_POLL_MS / 2,
  });
}

export function useOverview(userId: number | undefined) {
  const poll = usePollInterval(5000);
  return useQuery({
    queryKey: ["home", "overview", userId],
    queryFn: async () => {
      try {
        return await request<Overview>("GET", "/api/ui/v1/overview");
      } catch (error) {
        // A master of 0.38 has no overview: its list of experiments has most of it.
        if (error instanceof ApiError && error.isNotFound) return fromExperiments(userId ?? 0);
        throw error;
      }
    },
    refetchInterval: poll || 15_000,
  });
}

export async function noteVisit(): Promise<void> {
  await request("POST", "/api/ui/v1/overview/visit");
}

async function fromExperiments(userId: number): Promise<Overview> {
  const query = { userIds: [userId], limit: 100, orderBy: "ORDER_BY_DESC" as const };
  const got = await answer(api.GET("/api/v1/experiments", { params: { query } }));
  const items = (got.experiments ?? []).map(
    (each): OverviewItem => ({
      kind: "experiment",
      id: String(each.id),
      name: each.name ?? "",
      jobId: each.jobId ?? "",
      state: each.state ?? "",
      projectId: each.projectId ?? 1,
      resourcePool: each.resourcePool ?? "",
      slots: 0,
      progress: each.progress ?? 0,
      startedAt: each.startTime ?? null,
      endedAt: each.endTime ?? null,
      jobsAhead: -1,
      reason: "",
    }),
  );
  const queued = items.filter((each) => stateFamily(each.state) === "waiting");
  const running = items.filter((each) => !isFinished(each.state) && !queued.includes(each));
  const failures = items.filter((each) => stateFamily(each.state) === "failed");
  return {
    lastVisitAt: null,
    running,
    queued,
    failures,
    runningCount: running.length,
    queuedCount: queued.length,
    failureCount: failures.length,
  };
}

export function useRecent(userId: number | undefined) {
  const poll = usePollInterval(5000);
  return useQuery({
    queryKey: ["home", "recent", userId],
    queryFn: async () => {
      const query = { userIds: [userId ?? 0], limit: 25, orderBy: "ORDER_BY_DESC" as const };
      return (await answer(api.GET("/api/v1/experiments", { params: { query } }))).experiments ?? [];
    },
    enabled: userId !== undefined,
    refetchInterval: poll || 15_000,
  });
}

export function useRecentProjects() {
  return useQuery({
    queryKey: ["home", "projects"],
    queryFn: async () =>
      (await answer(api.GET("/api/v1/user/projects/activity", { params: { query: { limit: 5 } } })))
        .projects ?? [],
  });
}
