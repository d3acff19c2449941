/** Rows in groups of equal values of one column: keys, figures, order. Plain data, no requests. */
import { wireNumber } from "@/data/format/numbers";
import type { FieldFilter } from "@/data/query/compile";
import type { Field, Fields } from "@/data/query/fields";
import type { Sort } from "@/data/view/tableState";

import { valueOf, type Item } from "../item";

/** A numeric column over the runs of a group that have a value of it. */
export interface Figures {
  n: number;
  mean: number;
  /** Of a sample; undefined below two values. */
  std: number | undefined;
  min: number;
  max: number;
}

export interface Group {
  /** Names the group in the address: `t` and a text, `n` and a number, or empty for no value. */
  key: string;
  value: string | number | undefined;
  runs: number;
  figures: ReadonlyMap<string, Figures>;
}

export interface Groups {
  groups: readonly Group[];
  /** Groups and runs in all; `groups` may lack the smallest. */
  total: number;
  runs: number;
}

export function keyOf(value: string | number | undefined): string {
  return value === undefined ? "" : typeof value === "number" ? `n${value}` : `t${value}`;
}

/** Columns whose values name a set of runs. */
const NAMING = new Set([
  "user",
  "tags",
  "state",
  "experimentName",
  "experimentId",
  "searcherType",
  "searcherMetric",
  "resourcePool",
  "forkedFrom",
  "logPolicyMatched",
  "externalExperimentId",
  "experimentDescription",
]);

/** The columns that make groups, those of the table itself first. */
export function groupingFields({ byName }: Fields): Field[] {
  const all = [...byName.values()];
  const own = [...NAMING].flatMap((column) => byName.get(column) ?? []);
  const named = all.filter(({ column, type }) => /^(hp|metadata)\../.test(column) && (type === "text" || type === "number"));
  return [...own, ...named.sort((a, b) => a.column.localeCompare(b.column))];
}

/** Numbers that name a thing have no mean. */
export const NAMES: ReadonlySet<string> = new Set(["id", "experimentId", "projectId", "forkedFrom", "localId"]);
/** The master sums up at most so many. */
const MAX_COLUMNS = 40;

/** The shown columns that have figures. */
export function figureColumns(shown: readonly string[], { byName }: Fields, by: string): string[] {
  return shown
    .filter((column) => column !== by && !NAMES.has(column) && byName.get(column)?.type === "number")
    .slice(0, MAX_COLUMNS);
}

/** The condition that the runs of a group meet. */
export function conditionOf(group: Pick<Group, "value">, field: Field): FieldFilter {
  const isNumber = typeof group.value === "number";
  return {
    kind: "field",
    columnName: field.column,
    location: field.location,
    operator: group.value === undefined ? "isEmpty" : "=",
    type: isNumber ? "COLUMN_TYPE_NUMBER" : "COLUMN_TYPE_TEXT",
    value: group.value ?? null,
  };
}

/** By the sort of the list where groups have it, else by value; groups without a value last. */
export function sortGroups(groups: readonly Group[], by: string, sort: readonly Sort[]): Group[] {
  const figure = sort.find(({ id }) => id === by || groups.some(({ figures }) => figures.has(id)));
  const sign = figure?.desc ? -1 : 1;
  const rank = ({ figures }: Group) => (figure && figure.id !== by ? figures.get(figure.id)?.mean : undefined);
  return [...groups].sort((a, b) => {
    if (figure && figure.id !== by) {
      const [x, y] = [rank(a), rank(b)];
      const order = Number(isNone(x)) - Number(isNone(y)) || sign * ((x ?? 0) - (y ?? 0));
      if (order) return order;
    }
    const order = Number(isNone(a.value)) - Number(isNone(b.value));
    return order || (figure?.id === by ? sign : 1) * compare(a.value, b.value);
  });
}

const names = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function compare(a: string | number | undefined, b: string | number | undefined): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return names.compare(String(a ?? ""), String(b ?? ""));
}

function isNone(value: unknown): boolean {
  return value === undefined || Number.isNaN(value);
}

/** The same as the master's groups, of runs in memory: for a master without that route. */
export function groupItems(items: readonly Item[], by: string, columns: readonly string[], userName: (id: number | undefined) => string): Groups {
  const found = new Map<string, { value: string | number | undefined; items: Item[] }>();
  for (const item of items) {
    const value = by === "user" ? userName(item.userId) || undefined : groupValue(valueOf(item, by), by);
    const group = found.get(keyOf(value)) ?? { value, items: [] };
    group.items.push(item);
    found.set(keyOf(value), group);
  }
  const groups = [...found].map(([key, { value, items: some }]) => ({
    key,
    value,
    runs: some.length,
    figures: new Map(columns.flatMap((column) => figuresOf(some, column))),
  }));
  return { groups, total: groups.length, runs: items.length };
}

function groupValue(value: unknown, by: string): string | number | undefined {
  if (value === undefined || value === null || value === "" || Number.isNaN(value)) return undefined;
  if (by === "tags") return String(value).replaceAll(", ", ",");
  if (by === "state") return String(value).replace(/^STATE_/, "").replace(/^(RUNNING|QUEUED|PULLING|STARTING)$/, "ACTIVE");
  return typeof value === "number" ? value : String(value);
}

function figuresOf(items: readonly Item[], column: string): [string, Figures][] {
  const values = items.map((item) => wireNumber(valueOf(item, column))).filter((value) => value !== undefined && !Number.isNaN(value)) as number[];
  const figures = summed(values);
  return figures ? [[column, figures]] : [];
}

export function summed(values: readonly number[]): Figures | undefined {
  if (values.length === 0) return undefined;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const std = values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : undefined;
  return { n: values.length, mean, std, min: Math.min(...values), max: Math.max(...values) };
}

export interface Difference {
  by: number;
  /** Of the baseline; undefined where that is zero or not finite. */
  share: number | undefined;
}

/** How far a value lies from the baseline's; undefined where one of them is no finite number. */
export function differenceOf(value: unknown, baseline: unknown): Difference | undefined {
  if (typeof value !== "number" || typeof baseline !== "number") return undefined;
  if (!Number.isFinite(value) || !Number.isFinite(baseline)) return undefined;
  const by = value - baseline;
  return { by, share: baseline === 0 ? undefined : by / Math.abs(baseline) };
}
