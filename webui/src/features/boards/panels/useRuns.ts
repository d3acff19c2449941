/** The runs of a panel, read again while some of them run. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { useNow } from "@/data/now";
import { columnsQuery } from "@/data/projects";
import { fieldsOf, type Fields, type ProjectColumn } from "@/data/query/fields";
import { useUser } from "@/data/session";
import { isFinished } from "@/data/states";
import { fetchItems } from "@/features/runs/source";

import type { Source } from "./types";
import { wantedRuns, type WantedRuns } from "./wanted";

/** A changed run makes queries with this prefix old. */
export const panelRunsKey = ["board-runs"] as const;

const POLL_MS = 10_000;
const NO_COLUMNS: ProjectColumn[] = [];

/** The columns that a panel's names mean: those of the project that it reads. */
export function useFields(source: Source, boardProject: number) {
  const projectId = (source.by === "query" && source.projectId) || boardProject;
  const columns = useQuery(columnsQuery(projectId, "run"));
  const known = columns.data ?? NO_COLUMNS;
  const fields = useMemo(() => fieldsOf("run", known), [known]);
  return { fields, known, isPending: columns.isPending, error: columns.data ? undefined : columns.error, refetch: columns.refetch };
}

export function useWanted(source: Source, sort: string, boardProject: number, fields: Fields) {
  const user = useUser();
  const me = user.displayName || user.username || "";
  const minute = useNow(60_000);
  // Relative times of a query follow the clock by the hour: else each minute is another query.
  const hour = Math.floor(minute / 3_600_000);
  return useMemo(
    () => wantedRuns(source, sort, boardProject, fields, { me, now: hour * 3_600_000 }),
    [source, sort, boardProject, fields, me, hour],
  );
}

export function usePanelRuns(wanted: WantedRuns | undefined, limit: number) {
  const key = JSON.stringify(wanted ?? null);
  return useQuery({
    queryKey: [...panelRunsKey, wanted?.projectId ?? 0, key, limit],
    queryFn: ({ signal }) => fetchItems({ table: "run", ...(wanted as WantedRuns) }, 0, limit, signal),
    enabled: wanted !== undefined,
    refetchInterval: ({ state }) =>
      state.data?.rows.every((run) => isFinished(run.state)) && state.data.total <= state.data.rows.length ? 6 * POLL_MS : POLL_MS,
    placeholderData: (old) => old,
  });
}
