/** What a table needs to show a list in groups; without a group it shows the list as it is. */
import { useCallback, useMemo, useRef } from "react";

import { formatNumber } from "@/data/format/numbers";
import type { Fields } from "@/data/query/fields";
import type { TableState } from "@/data/view/tableState";
import type { ListState } from "@/data/view/url";
import type { MenuEntry } from "@/ui/overlay/Menu";
import type { Column } from "@/ui/table/types";
import { useSource } from "@/ui/table/useSource";

import { GROUP_COLUMN, groupColumn } from "../columns";
import type { GroupHead, Item } from "../item";
import type { Wanted } from "../source";
import { keyOfItem, NO_ROWS } from "./GroupedRows";
import { useGroupedRows } from "./useGroupedRows";

const isHead = (item: Item) => item.group !== undefined;
/** With more open groups, their first pages alone are many requests. */
const MAX_OPENED = 50;

export function useGroupedTable({
  list,
  state,
  change,
  columns,
  fields,
  userName,
}: {
  list: Wanted;
  state: ListState;
  change(part: Partial<ListState>): void;
  columns: readonly Column<Item>[];
  fields: Fields;
  userName(id: number | undefined): string;
}) {
  const by = list.table === "run" ? state.group : "";
  const rows = useGroupedRows(list, { by, fields, shown: state.columns, sort: state.sort, open: state.open, userName });
  useSource(rows ?? NO_ROWS);
  const latest = useRef({ open: state.open, change });
  latest.current = { open: state.open, change };
  const toggle = useCallback((key: string) => {
    const { open, change: set } = latest.current;
    set({ open: open.includes(key) ? open.filter((each) => each !== key) : [...open, key] });
  }, []);
  const header = columns.find((each) => each.id === by)?.header ?? by;
  const withHeads = useMemo(
    () => (rows ? [groupColumn(header, (group) => labelOf(group, by), toggle), ...columns] : columns),
    [rows, header, by, toggle, columns],
  );
  const tableState = useMemo<TableState>(
    () =>
      rows
        ? {
            ...state,
            sort: state.sort.map((each) => (each.id === by ? { ...each, id: GROUP_COLUMN } : each)),
            columns: [GROUP_COLUMN, ...state.columns.filter((each) => each !== by)],
            pinned: [GROUP_COLUMN, ...state.pinned],
          }
        : state,
    [rows, state, by],
  );
  const onState = ({ sort, columns: order, pinned, widths }: TableState) => {
    const own = (ids: readonly string[]) => (rows ? ids.filter((each) => each !== GROUP_COLUMN) : ids);
    const hidden = rows && state.columns.includes(by) ? withAt(own(order), by, state.columns.indexOf(by)) : own(order);
    change({
      sort: sort.map((each) => (each.id === GROUP_COLUMN ? { ...each, id: by } : each)),
      columns: hidden,
      pinned: own(pinned),
      widths: Object.fromEntries(Object.entries(widths).filter(([id]) => id !== GROUP_COLUMN)),
    });
  };
  const menuOf = (group: GroupHead): MenuEntry[] => {
    const all = rows?.groups?.groups ?? [];
    return [
      { label: group.isOpen ? "Close" : "Open", icon: group.isOpen ? "down" : "chevron", keys: "Enter", onSelect: () => toggle(group.key) },
      "separator",
      {
        label: "Open all groups",
        disabledReason: all.length > MAX_OPENED ? `There are more than ${MAX_OPENED}.` : undefined,
        onSelect: () => change({ open: all.map(({ key }) => key) }),
      },
      { label: "Close all groups", disabledReason: state.open.length === 0 ? "All are closed." : undefined, onSelect: () => change({ open: [] }) },
    ];
  };
  const rowName = (item: Item) =>
    item.group ? `group ${labelOf(item.group, by)}` : `${item.id} ${item.name}`;
  return { rows, columns: withHeads, state: tableState, onState, toggle, menuOf, rowKey: keyOfItem, rowName, isHead };
}

/** The column that groups is not shown; it keeps its place for later. */
function withAt(ids: readonly string[], id: string, at: number): string[] {
  return [...ids.slice(0, at), id, ...ids.slice(at)];
}

export function labelOf({ value }: Pick<GroupHead, "value">, by: string): string {
  if (value === undefined) return "(none)";
  if (typeof value === "number") return by.endsWith("Id") ? String(value) : formatNumber(value);
  if (by === "state") return value.charAt(0) + value.slice(1).toLowerCase().replaceAll("_", " ");
  return by === "tags" ? value.replaceAll(",", ", ") : value;
}
