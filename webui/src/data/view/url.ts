/**
 * The state of a list in the address: query, sort, columns, selection, open drawer, first row.
 *
 * Only what differs from the base (a named view, or the page's default) is written.
 */
import { applyDelta, encodeDelta } from "./delta";
import { MAX_SORTS, MAX_WIDTH, MIN_WIDTH, type Sort, type TableState } from "./tableState";

/** What a named view holds. */
export interface ViewState extends TableState {
  query: string;
  /** The column whose values make groups; empty for none. */
  group: string;
  /** The id of the row that the others are compared with; empty for none. */
  baseline: string;
}

export interface ListState extends ViewState {
  /** Selected ids; with `all`, the excepted ones. */
  selected: readonly string[];
  all: boolean;
  /** The id of the row in the drawer. */
  peek: string;
  /** The first row in sight. */
  at: number;
  /** Keys of open groups. */
  open: readonly string[];
}

export const PARAMS = ["q", "sort", "cols", "pins", "w", "group", "base", "open", "sel", "peek", "at"] as const;
const MAX_IN_URL = 500;
const MAX_OPEN_IN_URL = 100;

export function listState(base: ViewState): ListState {
  return { ...base, selected: [], all: false, peek: "", at: 0, open: [] };
}

/** Write a state into parameters; other parameters stay. */
export function encodeList(state: ListState, base: ViewState, into?: URLSearchParams): URLSearchParams {
  const params = new URLSearchParams(into);
  const put = (name: string, value: string | undefined) => {
    if (value === undefined) params.delete(name);
    else params.set(name, value);
  };
  put("q", state.query === base.query ? undefined : state.query);
  const sort = encodeSort(state.sort);
  put("sort", sort === encodeSort(base.sort) ? undefined : sort);
  const delta = encodeDelta(base.columns, state.columns);
  put("cols", delta.length ? join(delta) : undefined);
  const pins = join(state.pinned);
  put("pins", pins === join(base.pinned) ? undefined : pins);
  const widths = Object.entries(state.widths).filter(([id, width]) => base.widths[id] !== width);
  put("w", widths.length ? join(widths.map(([id, width]) => `${id}@${width}`)) : undefined);
  put("group", state.group === base.group ? undefined : state.group);
  put("base", state.baseline === base.baseline ? undefined : state.baseline);
  const open = state.open.slice(0, MAX_OPEN_IN_URL);
  put("open", open.length ? join(open.map((key) => `.${key}`)) : undefined);
  const selected = state.selected.slice(0, MAX_IN_URL);
  put("sel", state.all ? `all${selected.map((id) => `-${id}`).join("")}` : selected.length ? selected.join("-") : undefined);
  put("peek", state.peek || undefined);
  put("at", state.at > 0 ? String(state.at) : undefined);
  return params;
}

export function decodeList(params: URLSearchParams, base: ViewState): ListState {
  const sort = params.get("sort");
  const cols = params.get("cols");
  const pins = params.get("pins");
  const sel = params.get("sel") ?? "";
  const all = sel === "all" || sel.startsWith("all-");
  const at = Number(params.get("at"));
  return {
    query: params.get("q") ?? base.query,
    sort: sort === null ? base.sort : decodeSort(sort),
    columns: cols === null ? base.columns : nonEmpty(applyDelta(base.columns, split(cols)), base.columns),
    pinned: pins === null ? base.pinned : split(pins),
    widths: { ...base.widths, ...decodeWidths(params.get("w") ?? "") },
    selected: sel.split("-").filter((id) => id !== "" && id !== "all").slice(0, MAX_IN_URL),
    all,
    peek: params.get("peek") ?? "",
    at: Number.isInteger(at) && at > 0 ? at : 0,
    group: params.get("group") ?? base.group,
    baseline: params.get("base") ?? base.baseline,
    // Each key has a mark before it: that of the group without a value is empty.
    open: split(params.get("open") ?? "").map((key) => key.replace(/^\./, "")).slice(0, MAX_OPEN_IN_URL),
  };
}

export function sameView(a: ViewState, b: ViewState): boolean {
  const widths = (each: ViewState) => JSON.stringify(Object.entries(each.widths).sort());
  return (
    a.query === b.query &&
    a.group === b.group &&
    a.baseline === b.baseline &&
    encodeSort(a.sort) === encodeSort(b.sort) &&
    join(a.columns) === join(b.columns) &&
    join([...a.pinned].sort()) === join([...b.pinned].sort()) &&
    widths(a) === widths(b)
  );
}

/** A stored view may come from another version, or from another program. */
export function readView(stored: unknown, fallback: ViewState): ViewState {
  const raw = (stored ?? {}) as Record<string, unknown>;
  const texts = (value: unknown) =>
    Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : undefined;
  const columns = texts(raw["columns"]);
  return {
    query: typeof raw["query"] === "string" ? raw["query"] : fallback.query,
    sort: Array.isArray(raw["sort"])
      ? raw["sort"].flatMap((each: Partial<Sort>) => (typeof each?.id === "string" ? [{ id: each.id, desc: Boolean(each.desc) }] : []))
      : fallback.sort,
    columns: columns?.length ? columns : fallback.columns,
    pinned: texts(raw["pinned"]) ?? fallback.pinned,
    widths: readWidths(raw["widths"]) ?? fallback.widths,
    group: typeof raw["group"] === "string" ? raw["group"] : fallback.group,
    baseline: typeof raw["baseline"] === "string" ? raw["baseline"] : fallback.baseline,
  };
}

/** The sort as the master reads it. */
export function wireSort(sort: readonly Sort[]): string {
  return sort.map(({ id, desc }) => `${id}=${desc ? "desc" : "asc"}`).join(",");
}

function encodeSort(sort: readonly Sort[]): string {
  return join(sort.map(({ id, desc }) => (desc ? `-${id}` : id)));
}

function decodeSort(text: string): Sort[] {
  const seen = new Set<string>();
  return split(text)
    .map((each) => (each.startsWith("-") ? { id: each.slice(1), desc: true } : { id: each, desc: false }))
    .filter(({ id }) => id !== "" && !seen.has(id) && seen.add(id))
    .slice(0, MAX_SORTS);
}

function decodeWidths(text: string): Record<string, number> {
  const entries = split(text).map((each): [string, number] => {
    const at = each.lastIndexOf("@");
    return [each.slice(0, Math.max(at, 0)), Number(each.slice(at + 1))];
  });
  return readWidths(Object.fromEntries(entries)) ?? {};
}

function readWidths(value: unknown): Record<string, number> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const fits = ([id, width]: [string, unknown]) =>
    id !== "" && typeof width === "number" && width >= MIN_WIDTH && width <= MAX_WIDTH;
  return Object.fromEntries(Object.entries(value).filter(fits)) as Record<string, number>;
}

/** Names of metrics may have commas. */
function join(parts: readonly string[]): string {
  return parts.map((each) => each.replace(/[\\,]/g, "\\$&")).join(",");
}

function split(text: string): string[] {
  return (text.match(/(?:\\.|[^\\,])+/g) ?? []).map((each) => each.replace(/\\(.)/g, "$1"));
}

function nonEmpty(columns: string[], fallback: readonly string[]): readonly string[] {
  return columns.length ? columns : fallback;
}
