import { useEffect, useMemo, useRef } from "react";

import type { Fields } from "@/data/query/fields";
import type { Sort } from "@/data/view/tableState";

import { fetchItems, narrowed, type Wanted } from "../source";
import { conditionOf, figureColumns } from "./figures";
import { GroupedRows } from "./GroupedRows";
import { readGroups } from "./read";

/** The list in groups of `by`; undefined where it is not grouped. */
export function useGroupedRows(
  wanted: Wanted,
  { by, fields, shown, sort, open, userName }: {
    by: string;
    fields: Fields;
    /** The columns in sight: numbers among them are summed up. */
    shown: readonly string[];
    sort: readonly Sort[];
    /** Keys of open groups. */
    open: readonly string[];
    userName(id: number | undefined): string;
  },
): GroupedRows | undefined {
  const field = fields.byName.get(by);
  const { table, projectId, filter } = wanted;
  const latest = useRef({ wanted, userName });
  latest.current = { wanted, userName };
  const rows = useMemo(
    () =>
      field &&
      new GroupedRows({
        by: field.column,
        groups: (columns, signal) =>
          readGroups({ table, projectId, filter, sort: "id=desc" }, field.column, columns, latest.current.userName, signal),
        pages: (group) => (offset, limit, signal) => {
          const inside = narrowed(filter, conditionOf(group, field));
          return fetchItems({ table, projectId, filter: inside, sort: latest.current.wanted.sort }, offset, limit, signal);
        },
      }),
    [field, table, projectId, filter],
  );
  const columns = useMemo(() => figureColumns(shown, fields, by), [shown, fields, by]);
  useEffect(() => rows?.configure(columns, sort, new Set(open)), [rows, columns, sort, open]);
  return rows;
}
