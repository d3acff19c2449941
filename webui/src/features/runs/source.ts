/** Pages of the lists from the master, and live changes into them. */
import { useCallback, useEffect, useRef, useState } from "react";

import { answer, api } from "@/api/client";
import { usePollInterval, useTopic, type Frame } from "@/data/live";
import type { Filter, GroupFilter } from "@/data/query/compile";
import type { Table } from "@/data/query/fields";
import type { PagedRows, PageAnswer } from "@/ui/table/pagedRows";

import { fromRun, fromSearch, type Item } from "./item";

export interface Wanted {
  table: Table;
  projectId: number;
  filter: Filter;
  /** `col=asc,col2=desc` */
  sort: string;
}

export async function fetchItems(
  { table, projectId, filter, sort }: Wanted,
  offset: number,
  limit: number,
  signal?: AbortSignal,
): Promise<PageAnswer<Item>> {
  const body = { projectId, filter: JSON.stringify(filter), sort, offset, limit };
  const options = { body, ...(signal ? { signal } : {}) };
  if (table === "run") {
    const { runs = [], pagination } = await answer(api.POST("/api/v1/runs", options));
    return { rows: runs.map(fromRun), total: pagination?.total ?? runs.length };
  }
  const { experiments = [], pagination } = await answer(api.POST("/api/v1/experiments-search", options));
  return { rows: experiments.map(fromSearch), total: pagination?.total ?? experiments.length };
}

/** Both conditions hold. */
export function narrowed(filter: Filter, ...more: GroupFilter["children"]): Filter {
  return { ...filter, filterGroup: { kind: "group", conjunction: "and", children: [filter.filterGroup, ...more] } };
}

export function ofSearch(experimentId: number): GroupFilter["children"][number] {
  return {
    kind: "field",
    columnName: "experimentId",
    location: "LOCATION_TYPE_RUN",
    operator: "=",
    type: "COLUMN_TYPE_NUMBER",
    value: experimentId,
  };
}

interface LiveRun {
  id: number;
  experimentId: number;
  state?: string;
  archived?: boolean;
  progress?: number;
  endTime?: string;
  startTime?: string;
  searcherMetricValue?: unknown;
  validationMetrics?: unknown;
}

const PAUSE_MS = 2000;
/** Groups are summed up over all runs. */
const GROUPS_PAUSE_MS = 5000;

/** Rows that changes are put into. */
export type LiveRows = Pick<PagedRows<Item>, "total" | "readAt" | "refresh" | "patch" | "loaded">;

/**
 * Patches loaded rows; counts the new ones that match, which the chip then shows. Groups are read
 * again: each change may move their figures.
 */
export function useLiveItems(wanted: Wanted, rows: LiveRows, isGrouped = false) {
  const { table, projectId } = wanted;
  const fresh = useFresh(wanted, rows);
  const due = useRef<ReturnType<typeof setTimeout>>(undefined);
  const poll = usePollInterval(5000);
  const { add, forget } = fresh;

  const refresh = useCallback(() => {
    forget();
    rows.refresh();
  }, [forget, rows]);
  const soon = useCallback(() => {
    due.current ??= setTimeout(() => {
      due.current = undefined;
      rows.refresh();
    }, isGrouped ? GROUPS_PAUSE_MS : PAUSE_MS);
  }, [rows, isGrouped]);
  useEffect(
    () => () => {
      clearTimeout(due.current);
      due.current = undefined;
    },
    [rows],
  );
  useEffect(() => {
    if (!poll) return;
    const timer = setInterval(() => document.hidden || rows.refresh(), poll);
    return () => clearInterval(timer);
  }, [poll, rows]);

  useTopic(
    `project:${projectId}/runs`,
    useCallback(
      (frame: Frame) => {
        if (frame.op === "reset") rows.refresh();
        if (frame.op !== "upsert" || rows.total === undefined) return;
        const { runs = [], removed = [] } = (frame.data ?? {}) as { runs?: LiveRun[]; removed?: number[] };
        if (removed.length > 0 || (table === "experiment" && runs.length > 0)) soon();
        if (table === "experiment") return;
        if (isGrouped && runs.length > 0) soon();
        const unknown = runs.filter((run) => !rows.patch(run.id, (item) => patched(item, run)));
        // An empty list has nothing that could jump.
        if (unknown.length > 0 && rows.total === 0) soon();
        else if (!isGrouped) add(unknown.map((run) => run.id));
      },
      [add, rows, soon, table, isGrouped],
    ),
  );
  return { fresh: fresh.count, refresh };
}

/** The master reads at most 200 conditions of a filter. */
const MAX_ASKED = 150;

/** How many runs that the list has not read yet match its filter; the master counts them. */
function useFresh({ table, projectId, filter, sort }: Wanted, rows: LiveRows) {
  const [count, setCount] = useState(0);
  const ids = useRef(new Set<number>());
  const newest = useRef<number>(undefined);
  const due = useRef<ReturnType<typeof setTimeout>>(undefined);

  const forget = useCallback(() => {
    clearTimeout(due.current);
    due.current = undefined;
    ids.current.clear();
    newest.current = undefined;
    setCount(0);
  }, []);
  useEffect(() => forget, [forget, rows]);

  const ask = useCallback(async () => {
    due.current = undefined;
    const asked = [...ids.current].slice(-MAX_ASKED);
    // Ids of runs that were there when the list was read are no news, whether they match or not.
    newest.current ??= await newestBefore({ table, projectId, filter, sort }, rows);
    const news = asked.filter((id) => id > (newest.current ?? 0));
    if (news.length === 0) return;
    const some: GroupFilter = { kind: "group", conjunction: "or", children: news.map(withId) };
    const { total } = await fetchItems({ table, projectId, filter: narrowed(filter, some), sort }, 0, 1);
    setCount(total);
  }, [filter, projectId, rows, sort, table]);

  const add = useCallback(
    (more: number[]) => {
      const before = ids.current.size;
      more.forEach((id) => ids.current.add(id));
      if (ids.current.size === before) return;
      // A count that fails is asked again with the next new run.
      due.current ??= setTimeout(() => void ask().catch(() => undefined), PAUSE_MS);
    },
    [ask],
  );
  return { count, add, forget };
}

/** The greatest id among the loaded runs, or where a filter hides some, among those that match none. */
async function newestBefore({ table, projectId, filter, sort }: Wanted, rows: LiveRows): Promise<number> {
  const loaded = Math.max(0, ...[...rows.loaded()].map((each) => each.id));
  if (filter.filterGroup.children.length === 0 && sort === "id=desc") return loaded;
  const all: Filter = { showArchived: true, filterGroup: { kind: "group", conjunction: "and", children: [] } };
  const before = new Date(rows.readAt).toISOString();
  const started: GroupFilter["children"][number] = {
    kind: "field",
    columnName: "startTime",
    location: "LOCATION_TYPE_RUN",
    operator: "<=",
    type: "COLUMN_TYPE_DATE",
    value: before,
  };
  const { rows: found } = await fetchItems({ table, projectId, filter: narrowed(all, started), sort: "id=desc" }, 0, 1);
  return Math.max(loaded, found[0]?.id ?? 0);
}

function withId(value: number): GroupFilter["children"][number] {
  return { kind: "field", columnName: "id", location: "LOCATION_TYPE_RUN", operator: "=", type: "COLUMN_TYPE_NUMBER", value };
}

export function patched(item: Item, run: LiveRun): Item {
  const value = typeof run.searcherMetricValue === "number" ? run.searcherMetricValue : undefined;
  return {
    ...item,
    state: run.state ?? item.state,
    archived: run.archived ?? item.archived,
    progress: run.progress ?? item.progress,
    startTime: run.startTime ?? item.startTime,
    endTime: run.endTime ?? item.endTime,
    fields: {
      ...item.fields,
      ...(value === undefined ? {} : { searcherMetricsVal: value }),
      ...(run.progress === undefined ? {} : { experimentProgress: run.progress }),
    },
    metrics: withLatest(item.metrics, run.validationMetrics),
  };
}

/** The latest validation as the `last` figures of the summary. */
function withLatest(summary: unknown, latest: unknown): unknown {
  if (typeof latest !== "object" || latest === null) return summary;
  const metrics = ("avgMetrics" in latest ? latest.avgMetrics : latest) as Record<string, unknown>;
  const whole = (summary ?? {}) as Record<string, Record<string, object> | undefined>;
  const validation = { ...whole["validation_metrics"] };
  for (const [name, last] of Object.entries(metrics))
    if (typeof last === "number" || typeof last === "string") validation[name] = { ...validation[name], last };
  return { ...whole, validation_metrics: validation };
}
