/**
 * What a person changed about a table: sort, order, pins and widths of columns.
 *
 * The value is plain data, so it goes into the URL (`data/view/url`) and into named views.
 */
export interface Sort {
  id: string;
  desc: boolean;
}

export interface TableState {
  sort: readonly Sort[];
  /** Ids of the shown columns in their order, the pinned ones included. */
  columns: readonly string[];
  /** Ids of pinned columns; they stand before the others, in the order of `columns`. */
  pinned: readonly string[];
  /** Widths in px that differ from the columns' own. */
  widths: Readonly<Record<string, number>>;
}

export const MIN_WIDTH = 56;
export const MAX_WIDTH = 1200;
/** The master sorts by at most so many columns. */
export const MAX_SORTS = 20;

export const EMPTY_STATE: TableState = { sort: [], columns: [], pinned: [], widths: {} };

export type Direction = "asc" | "desc" | "none";

export function directionOf(state: TableState, id: string): Direction {
  const sort = state.sort.find((each) => each.id === id);
  return sort ? (sort.desc ? "desc" : "asc") : "none";
}

/** Sort by a column alone, or with `add` after the sorts that exist. */
export function withSort(state: TableState, id: string, to: Direction, add = false): TableState {
  const sort: Sort = { id, desc: to === "desc" };
  if (!add) return { ...state, sort: to === "none" ? [] : [sort] };
  const others = state.sort.filter((each) => each.id !== id);
  if (to === "none") return { ...state, sort: others };
  const known = state.sort.some((each) => each.id === id);
  const next = known ? state.sort.map((each) => (each.id === id ? sort : each)) : [...others, sort];
  return { ...state, sort: next.slice(0, MAX_SORTS) };
}

/** The next direction of a click: ascending, descending, unsorted. */
export function nextDirection(now: Direction): Direction {
  return now === "none" ? "asc" : now === "asc" ? "desc" : "none";
}

/** Move a column to stand at the place of another; `after` puts it behind. */
export function moveColumn(state: TableState, id: string, target: string, after: boolean): TableState {
  if (id === target) return state;
  const rest = state.columns.filter((each) => each !== id);
  const at = rest.indexOf(target);
  if (at < 0) return state;
  rest.splice(after ? at + 1 : at, 0, id);
  return { ...state, columns: rest };
}

/** Move a column by one place among those of its kind (pinned or not). */
export function shiftColumn(state: TableState, id: string, by: -1 | 1): TableState {
  const peers = orderOf(state).filter((each) => isPinned(state, each) === isPinned(state, id));
  const target = peers[peers.indexOf(id) + by];
  return target ? moveColumn(state, id, target, by > 0) : state;
}

export function moveFirst(state: TableState, id: string): TableState {
  return { ...state, columns: [id, ...state.columns.filter((each) => each !== id)] };
}

export function withPin(state: TableState, id: string, pinned: boolean): TableState {
  const rest = state.pinned.filter((each) => each !== id);
  return { ...state, pinned: pinned ? [...rest, id] : rest };
}

export function withColumn(state: TableState, id: string, shown: boolean): TableState {
  const rest = state.columns.filter((each) => each !== id);
  if (shown) return state.columns.includes(id) ? state : { ...state, columns: [...rest, id] };
  return { ...state, columns: rest, pinned: state.pinned.filter((each) => each !== id) };
}

export function withWidth(state: TableState, id: string, width: number): TableState {
  const bounded = Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)));
  return { ...state, widths: { ...state.widths, [id]: bounded } };
}

export function isPinned(state: TableState, id: string): boolean {
  return state.pinned.includes(id);
}

/** The shown columns, pinned ones first. */
export function orderOf(state: TableState): string[] {
  const pinned = new Set(state.pinned);
  return [
    ...state.columns.filter((each) => pinned.has(each)),
    ...state.columns.filter((each) => !pinned.has(each)),
  ];
}
