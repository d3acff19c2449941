/** How much each hyperparameter matters for a metric (`docs/ui-api.md`). */
import { useQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

import type { MetricId } from "../series/types";

interface Answer {
  metric: string;
  n: number;
  total: number;
  warning: string;
  parameters: { name: string; importance: number; correlation: number | null }[];
}

export function useImportance(experimentId: number, { group, name }: MetricId, smallerIsBetter: boolean) {
  const query = new URLSearchParams({ metric: name, group, smallerIsBetter: String(smallerIsBetter) });
  const path = `/api/ui/v1/experiments/${experimentId}/hp-importance?${query}`;
  return useQuery({
    queryKey: ["experiments", experimentId, "importance", group, name, smallerIsBetter],
    queryFn: () => request<Answer>("GET", path),
    staleTime: 30_000,
  });
}
