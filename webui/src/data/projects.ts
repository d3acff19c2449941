/** What the page of a project reads first. */
import { queryOptions } from "@tanstack/react-query";

import { answer, api } from "@/api/client";

import { keys } from "./keys";
import type { ProjectColumn, Table } from "./query/fields";

export function projectQuery(id: number) {
  return queryOptions({
    queryKey: keys.project(id),
    queryFn: async () => (await answer(api.GET("/api/v1/projects/{id}", { params: { path: { id } } }))).project,
  });
}

export function columnsQuery(projectId: number, table: Table) {
  const tableType = table === "run" ? "TABLE_TYPE_RUN" : "TABLE_TYPE_EXPERIMENT";
  return queryOptions({
    queryKey: keys.columns(projectId, table),
    queryFn: async (): Promise<ProjectColumn[]> =>
      (
        await answer(
          api.GET("/api/v1/projects/{id}/columns", { params: { path: { id: projectId }, query: { tableType } } }),
        )
      ).columns ?? [],
    staleTime: 30_000,
  });
}
