/** Why rows failed: a column that lists show while a row in view has failed. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "react-router";

import { request } from "@/api/client";
import type { Table } from "@/data/query/fields";
import { stateFamily } from "@/data/states";
import type { TableState } from "@/data/view/tableState";
import type { Column } from "@/ui/table/types";

import type { Item } from "./item";

export const CAUSE_COLUMN = "(cause)";
/** The master answers for so many rows at once. */
const MAX_ROWS = 500;

export interface Cause {
  id: number;
  text: string;
  trialId: number;
  logPosition: string;
}

interface Answer {
  trials: Cause[];
  experiments: Cause[];
}

/** The ids of failed rows, ascending; of many, the newest. */
export function failedIds(items: Iterable<Item>): number[] {
  const failed = [...items].filter((item) => !item.group && stateFamily(item.state) === "failed");
  return [...new Set(failed.map(({ id }) => id))].sort((a, b) => a - b).slice(-MAX_ROWS);
}

/** The column, while a loaded row has failed. It is read after the rows, which do not wait for it. */
export function useCauseColumn(table: Table, items: Iterable<Item>): Column<Item> | undefined {
  const key = failedIds(items).join(",");
  const query = useQuery({
    queryKey: ["failures", table, key],
    queryFn: async () => {
      const ids = key.split(",").map(Number);
      const body = table === "run" ? { trialIds: ids } : { experimentIds: ids };
      const answer = await request<Answer>("POST", "/api/ui/v1/failures", { body });
      return table === "run" ? answer.trials : answer.experiments;
    },
    enabled: key !== "",
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
  return useMemo(() => (key === "" ? undefined : columnOf(query.data ?? [])), [key, query.data]);
}

function columnOf(causes: readonly Cause[]): Column<Item> {
  const byId = new Map(causes.map((cause) => [cause.id, cause]));
  return {
    id: CAUSE_COLUMN,
    header: "Cause",
    group: "General",
    width: 280,
    sortable: false,
    type: "text",
    value: (item) => byId.get(item.id)?.text,
    render: (item) => {
      const cause = item.group ? undefined : byId.get(item.id);
      return cause?.text ? <CauseLink cause={cause} experimentId={item.experimentId} /> : null;
    },
  };
}

/** One sentence that leads to its line of the log. The table cuts it; the tooltip has all of it. */
function CauseLink({ cause, experimentId }: { cause: Cause; experimentId: number }) {
  const { text, trialId, logPosition } = cause;
  const line = Number(logPosition) > 0 ? `#L${logPosition}` : "";
  if (trialId === 0) return <bdi title={text}>{text}</bdi>;
  return (
    <Link to={`/experiments/${experimentId}/trials/${trialId}/logs${line}`} title={text}>
      <bdi>{text}</bdi>
    </Link>
  );
}

/** The table with the column beside the state. */
export function withCause(state: TableState): TableState {
  if (state.columns.includes(CAUSE_COLUMN)) return state;
  const at = state.columns.indexOf("state") + 1 || Math.min(2, state.columns.length);
  return { ...state, columns: [...state.columns.slice(0, at), CAUSE_COLUMN, ...state.columns.slice(at)] };
}

/** The table as the address and views keep it: the column comes and goes with the rows. */
export function withoutCause(state: TableState): TableState {
  const own = (ids: readonly string[]) => ids.filter((id) => id !== CAUSE_COLUMN);
  const widths = Object.fromEntries(Object.entries(state.widths).filter(([id]) => id !== CAUSE_COLUMN));
  return { ...state, columns: own(state.columns), pinned: own(state.pinned), widths };
}
