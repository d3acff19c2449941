/** How far the trials of a halving search have come (`docs/ui-api.md`). */
import { useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

import { keys } from "../keys";

export interface Rung {
  /** In units of the time metric. */
  length: number;
  /** Trials that train for this rung now. */
  training: number;
  /** Trials that failed on the way to it. */
  failed: number;
  reached: number;
  /** Of those that reached it. */
  stopped: number;
  best: number | null;
  /** The worst metric that passes now; null where any does, and at the top. */
  passes: number | null;
}

interface Answer {
  metric: string;
  timeMetric: string;
  brackets: { trials: number; rungs: Rung[] }[];
}

const WITH_RUNGS = new Set(["adaptive_asha", "async_halving"]);

export function hasRungs(searcherType: string | undefined): boolean {
  return WITH_RUNGS.has(searcherType ?? "");
}

/** Asked for again whenever the trials are. */
export function useRungs(experimentId: number) {
  return useQuery({
    queryKey: [...keys.experimentTrials(experimentId), "rungs"],
    queryFn: () => request<Answer>("GET", `/api/ui/v1/experiments/${experimentId}/rungs`),
  });
}
