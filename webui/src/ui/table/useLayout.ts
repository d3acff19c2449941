/** Which columns stand where: order, pins, widths, and the surplus of a wide window. */
import { useMemo } from "react";

import { orderOf, type TableState } from "@/data/view/tableState";

import type { Column } from "./types";

export const HEAD_HEIGHT = 44;
export const SELECT_WIDTH = 40;
export const MENU_WIDTH = 36;
const DEFAULT_WIDTH = 140;
/** Pinned columns may cover so much of a narrow window; beyond it they scroll. */
const PINNED_SHARE = 0.55;

export interface Placed<R> {
  column: Column<R>;
  /** Zero-based place among all shown columns, the selection's not counted. */
  place: number;
  left: number;
  width: number;
  pinned: boolean;
}

export interface Layout<R> {
  pinned: Placed<R>[];
  free: Placed<R>[];
  /** Where the free columns begin. */
  pinnedEnd: number;
  width: number;
}

/** The state that the definitions themselves describe. */
export function defaultState<R>(columns: readonly Column<R>[]): TableState {
  return {
    sort: [],
    columns: columns.filter((each) => !each.hidden).map((each) => each.id),
    pinned: columns.filter((each) => each.pin).map((each) => each.id),
    widths: {},
  };
}

export function useLayout<R>(
  columns: readonly Column<R>[],
  state: TableState,
  { selects, menus, viewport }: { selects: boolean; menus: boolean; viewport: number },
): Layout<R> {
  return useMemo(
    () => layOut(columns, state, selects ? SELECT_WIDTH : 0, menus ? MENU_WIDTH : 0, viewport),
    [columns, state, selects, menus, viewport],
  );
}

export function layOut<R>(
  columns: readonly Column<R>[],
  state: TableState,
  before: number,
  after: number,
  viewport: number,
): Layout<R> {
  const byId = new Map(columns.map((each) => [each.id, each]));
  const shown = orderOf(state).flatMap((id) => byId.get(id) ?? []);
  const widths = spread(shown, state, viewport - before - after);
  const allPinned = new Set(state.pinned);
  const layout: Layout<R> = { pinned: [], free: [], pinnedEnd: before, width: 0 };
  let left = before;
  shown.forEach((column, place) => {
    const width = widths[place] ?? DEFAULT_WIDTH;
    const fits = viewport === 0 || left + width <= Math.max(viewport * PINNED_SHARE, before);
    const pinned = allPinned.has(column.id) && fits && layout.free.length === 0;
    (pinned ? layout.pinned : layout.free).push({ column, place, left, width, pinned });
    left += width;
    if (pinned) layout.pinnedEnd = left;
  });
  layout.width = Math.max(left + after, viewport);
  return layout;
}

/** Widths, with the surplus given to columns that grow. */
function spread<R>(shown: Column<R>[], state: TableState, room: number): number[] {
  const widths = shown.map((each) => state.widths[each.id] ?? each.width ?? DEFAULT_WIDTH);
  const surplus = room - widths.reduce((sum, each) => sum + each, 0);
  const growing = shown.flatMap((each, at) => (each.grow && !(each.id in state.widths) ? [at] : []));
  if (surplus <= 0 || growing.length === 0) return widths;
  const share = Math.floor(surplus / growing.length);
  for (const at of growing) widths[at] = (widths[at] ?? 0) + share;
  return widths;
}
