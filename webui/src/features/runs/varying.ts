/** The columns that a list shows by itself: what tells its rows apart, and how well they do. */
import { useMemo, useRef } from "react";

import type { ProjectColumn } from "@/data/query/fields";
import type { ListState } from "@/data/view/url";
import type { CellValue } from "@/ui/table/types";

import { valueOf, type Item } from "./item";

/** Rows that decide; more would make the columns late. */
const MAX_ROWS = 100;
const MAX_METRICS = 4;
const MAX_HYPERPARAMETERS = 12;

/** Hyperparameters of which these rows have two values, in the order of the project's columns. */
export function varyingHyperparameters(rows: readonly Item[], columns: readonly ProjectColumn[]): string[] {
  const names = columns.flatMap(({ column }) => (column?.startsWith("hp.") ? [column] : []));
  const varies = (name: string) => {
    let first: CellValue;
    return rows.some((row) => {
      const value = valueOf(row, name);
      first ??= value;
      return value !== undefined && value !== first;
    });
  };
  return names.filter(varies).slice(0, MAX_HYPERPARAMETERS);
}

/**
 * The last values of the validation metrics that most of these rows have, by name. The searcher's
 * metric has a column of its own already where all rows have the same.
 */
export function validationMetrics(rows: readonly Item[], columns: readonly ProjectColumn[]): string[] {
  const counts = new Map<string, number>();
  for (const { metrics } of rows) {
    const own = (metrics as { validation_metrics?: object } | undefined)?.validation_metrics;
    for (const name of Object.keys(own ?? {})) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const searchers = new Set(rows.map(({ searcherMetric }) => searcherMetric));
  if (searchers.size === 1) searchers.forEach((name) => counts.delete(name));
  const listed = new Set(columns.map(({ column }) => column));
  return [...counts]
    .sort(([a, many], [b, more]) => more - many || a.localeCompare(b))
    .map(([name]) => `validation.${name}.last`)
    .filter((column) => listed.has(column))
    .slice(0, MAX_METRICS)
    .sort();
}

/** The columns with these after the searcher's metric. */
export function withVarying(columns: readonly string[], varying: readonly string[]): readonly string[] {
  const at = columns.indexOf("searcherMetricsVal") + 1 || columns.length;
  return [...columns.slice(0, at), ...varying, ...columns.slice(at)];
}

/**
 * The state as the table shows it: where nobody has chosen columns, with those of its first rows.
 *
 * They stay while the list is the same, so that no column moves while one scrolls. `own` turns a
 * changed table back into what the address and views keep: the default, until someone changes the
 * columns.
 */
export function useVaryingColumns(
  key: string,
  rows: Iterable<Item>,
  columns: readonly ProjectColumn[],
  state: ListState,
  defaults: readonly string[],
) {
  const chosen = useRef<{ key: string; columns: readonly string[] }>(undefined);
  const isDefault = same(state.columns, defaults);
  if (isDefault && chosen.current?.key !== key) {
    const some = [...first(rows, MAX_ROWS)];
    if (some.length > 0)
      chosen.current = { key, columns: withVarying(defaults, [...validationMetrics(some, columns), ...varyingHyperparameters(some, columns)]) };
  }
  const shown = isDefault ? (chosen.current?.columns ?? defaults) : state.columns;
  return {
    state: useMemo(() => (shown === state.columns ? state : { ...state, columns: shown }), [state, shown]),
    own: <T extends { columns?: readonly string[] }>(part: T): T =>
      part.columns && same(part.columns, shown) ? { ...part, columns: state.columns } : part,
  };
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((each, at) => each === b[at]));
}

function* first<T>(all: Iterable<T>, count: number): Iterable<T> {
  let at = 0;
  for (const each of all) {
    if (at++ === count) return;
    yield each;
  }
}
