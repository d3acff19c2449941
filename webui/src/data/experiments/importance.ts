/** How much each hyperparameter matters for the searcher's metric (`docs/ui-api.md`). */
import { useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

interface Answer {
  metric: string;
  n: number;
  total: number;
  warning: string;
  parameters: { name: string; importance: number; correlation: number | null }[];
}

export function useImportance(experimentId: number) {
  return useQuery({
    queryKey: ["experiments", experimentId, "importance"],
    queryFn: () => request<Answer>("GET", `/api/ui/v1/experiments/${experimentId}/hp-importance`),
    staleTime: 30_000,
  });
}
