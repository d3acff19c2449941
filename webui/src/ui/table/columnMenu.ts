/** The acts of a column's menu. Each drag of the header has its equal here. */
import {
  directionOf,
  isPinned,
  moveFirst,
  orderOf,
  shiftColumn,
  withColumn,
  withPin,
  withSort,
  withWidth,
  type TableState,
} from "@/data/view/tableState";

import type { MenuEntry } from "../overlay/Menu";
import type { Column } from "./types";

const PRESETS: [string, number][] = [
  ["Narrow", 90],
  ["Medium", 160],
  ["Wide", 320],
];

export function columnMenu<R>(
  column: Column<R>,
  state: TableState,
  set: (next: TableState) => void,
): MenuEntry[] {
  const { id } = column;
  const direction = directionOf(state, id);
  const others = state.sort.some((each) => each.id !== id);
  const peers = orderOf(state).filter((each) => isPinned(state, each) === isPinned(state, id));
  const [first, last] = [peers[0] === id, peers.at(-1) === id];
  return [
    { heading: column.header },
    ...(column.sortable
      ? ([
          { label: "Sort ascending", onSelect: () => set(withSort(state, id, "asc")) },
          { label: "Sort descending", onSelect: () => set(withSort(state, id, "desc")) },
          others && { label: "Then by this, ascending", onSelect: () => set(withSort(state, id, "asc", true)) },
          others && { label: "Then by this, descending", onSelect: () => set(withSort(state, id, "desc", true)) },
          direction !== "none" && { label: "Do not sort by this", onSelect: () => set(withSort(state, id, "none", true)) },
          "separator",
        ] satisfies MenuEntry[])
      : []),
    { label: "Move left", disabledReason: first ? "It is the first." : undefined, onSelect: () => set(shiftColumn(state, id, -1)) },
    { label: "Move right", disabledReason: last ? "It is the last." : undefined, onSelect: () => set(shiftColumn(state, id, 1)) },
    { label: "Move first", disabledReason: first ? "It is the first." : undefined, onSelect: () => set(moveFirst(state, id)) },
    {
      label: isPinned(state, id) ? "Unpin" : "Pin",
      icon: "pin",
      onSelect: () => set(withPin(state, id, !isPinned(state, id))),
    },
    "separator",
    ...PRESETS.map(([label, width]) => ({
      label: `${label} (${width} px)`,
      onSelect: () => set(withWidth(state, id, width)),
    })),
    "separator",
    {
      label: "Hide",
      disabledReason: state.columns.length < 2 ? "It is the only column." : undefined,
      onSelect: () => set(withColumn(state, id, false)),
    },
  ];
}
