import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { columnsQuery } from "@/data/projects";

import { templatesFor, type Template } from "./templates";
import { usePanelRuns } from "./useRuns";
import type { WantedRuns } from "./wanted";

const EVERYTHING = { showArchived: false, filterGroup: { kind: "group", conjunction: "and", children: [] } } as const;

/** Panels to insert, with a metric and a run of the project. */
export function useTemplates(projectId: number): Template[] {
  const columns = useQuery(columnsQuery(projectId, "run")).data;
  const wanted = useMemo<WantedRuns>(
    () => ({ projectId, sort: "id=desc", filter: { ...EVERYTHING, filterGroup: { ...EVERYTHING.filterGroup, children: [] } } }),
    [projectId],
  );
  const newest = usePanelRuns(wanted, 1).data?.rows[0];
  return useMemo(() => {
    const metrics = (columns ?? []).flatMap((each) => (each.column && isMetric(each.location) && each.column.endsWith(".last") ? [each.column.slice(0, -".last".length)] : []));
    const metric = metrics.find((each) => each === `validation.${newest?.searcherMetric}`) ?? metrics.find((each) => each.startsWith("validation.")) ?? metrics[0];
    return templatesFor({ metric: metric ?? "validation.loss", runId: newest?.id ?? 1, experimentId: newest?.experimentId ?? 1 });
  }, [columns, newest]);
}

function isMetric(location: string | undefined): boolean {
  return ["VALIDATIONS", "TRAINING"].some((each) => location?.endsWith(each));
}
