import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { answer, api } from "@/api/client";
import { wireNumber } from "@/data/format/numbers";

/** The least and greatest value of each metric of a project, for the heat map. */
export function useMetricRanges(projectId: number, isOn: boolean) {
  const query = useQuery({
    queryKey: ["projects", projectId, "ranges"],
    queryFn: () =>
      answer(api.GET("/api/v1/projects/{id}/experiments/metric-ranges", { params: { path: { id: projectId } } })),
    enabled: isOn,
    staleTime: 30_000,
  });
  const ranges = query.data?.ranges;
  return useMemo(() => {
    if (!isOn || !ranges) return undefined;
    const found = new Map<string, readonly [number, number]>();
    for (const { metricsName = "", min, max } of ranges) {
      const [least, most] = [wireNumber(min), wireNumber(max)];
      if (least === undefined || most === undefined) continue;
      found.set(metricsName, [least, most]);
    }
    return found;
  }, [isOn, ranges]);
}
