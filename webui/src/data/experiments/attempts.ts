/** The starts of a trial: when, on which agents, and how each ended (`docs/ui-api.md`). */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

import { usePollInterval } from "../live";
import { POLL_MS } from "../queryClient";
import { isFinished } from "../states";
import type { Trial } from "./queries";
import type { Failure } from "./story";

export interface Attempt {
  number: number;
  allocationId: string;
  state: string;
  agents: string[];
  startedAt: string | null;
  endedAt: string | null;
  exitReason: string;
  failure: Failure | null;
}

interface Attempts {
  attempts: Attempt[];
  total: number;
}

/** The latest of them, the newest first; `total` counts all. */
export function useAttempts(trial: Trial) {
  const poll = usePollInterval(POLL_MS);
  return useQuery({
    queryKey: ["trials", trial.id, "attempts", trial.state, trial.restarts],
    queryFn: () => request<Attempts>("GET", `/api/ui/v1/trials/${trial.id}/attempts`),
    placeholderData: keepPreviousData,
    // The agents of an attempt come without a change of the trial.
    refetchInterval: isFinished(trial.state) ? false : poll || 5000,
  });
}
