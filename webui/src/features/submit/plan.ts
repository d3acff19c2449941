/** What a search makes, by the master's own arithmetic. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { previewSearch, type PlannedRuns } from "@/data/experiments/submissions";
import { plural } from "@/data/format/numbers";

import type { Editing } from "./editing";

/** `undefined` while the master does not accept the text. */
export function useSearchPlan({ draft, problems }: Editing): readonly PlannedRuns[] | undefined {
  const { searcher, hyperparameters } = draft.value;
  const plan = useQuery({
    queryKey: ["preview-search", JSON.stringify([searcher, hyperparameters])],
    queryFn: ({ signal }) => previewSearch(draft.value, signal),
    enabled: problems.length === 0 && searcher !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: Infinity,
  });
  return plan.error || problems.length > 0 ? undefined : plan.data;
}

export function trialCount(plan: readonly PlannedRuns[]): number {
  return plan.reduce((sum, each) => sum + each.count, 0);
}

export function planWords(plan: readonly PlannedRuns[]): string {
  const parts = plan.map(({ count, until }) => `${count} ${until ? `up to ${until}` : "in full"}`);
  const made = `The search makes ${plural(trialCount(plan), "trial")}`;
  return plan.length > 1 || plan[0]?.until ? `${made}: ${parts.join(", ")}.` : `${made}.`;
}
