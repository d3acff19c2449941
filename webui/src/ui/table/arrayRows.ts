/** Rows in memory as a source: sorted here, complete from the start. */
import { useMemo } from "react";

import type { Sort } from "@/data/view/tableState";

import type { CellValue, Column, Key, RowSource } from "./types";

export class ArrayRows<R> implements RowSource<R> {
  readonly error = undefined;
  private places: Map<Key, number> | undefined;

  constructor(
    private readonly rows: readonly R[] | undefined,
    private readonly keyOf: (row: R) => Key,
  ) {}

  get total(): number | undefined {
    return this.rows?.length;
  }

  rowAt(index: number): R | undefined {
    return this.rows?.[index];
  }

  async keysIn(first: number, last: number): Promise<Key[]> {
    return (this.rows ?? []).slice(first, last + 1).map(this.keyOf);
  }

  indexOf(key: Key): number {
    this.places ??= new Map((this.rows ?? []).map((row, index) => [this.keyOf(row), index]));
    return this.places.get(key) ?? -1;
  }

  ensure(): void {}

  subscribe(): () => void {
    return () => undefined;
  }

  getVersion(): number {
    return 0;
  }

  retry(): void {}
}

export function useArrayRows<R>(
  rows: readonly R[] | undefined,
  columns: readonly Column<R>[],
  keyOf: (row: R) => Key,
  sort: readonly Sort[],
): RowSource<R> {
  const sorted = useMemo(() => rows && sortRows(rows, columns, sort), [rows, columns, sort]);
  // `keyOf` is usually written in place: a new function is not a new list.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useMemo(() => new ArrayRows(sorted, keyOf), [sorted]);
}

/** Missing values come last in both directions; equal rows keep their order. */
export function sortRows<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  sort: readonly Sort[],
): readonly R[] {
  const keys = sort.flatMap(({ id, desc }) => {
    const value = columns.find((column) => column.id === id)?.value;
    return value ? [{ value, desc }] : [];
  });
  if (keys.length === 0) return rows;
  return [...rows].sort((a, b) => {
    for (const { value, desc } of keys) {
      const order = compareValues(value(a), value(b), desc);
      if (order !== 0) return order;
    }
    return 0;
  });
}

const texts = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function compareValues(a: CellValue, b: CellValue, desc: boolean): number {
  const [noA, noB] = [isMissing(a), isMissing(b)];
  if (noA || noB) return Number(noA) - Number(noB);
  const order =
    typeof a === "string" || typeof b === "string"
      ? texts.compare(String(a), String(b))
      : Number(a) - Number(b);
  return desc ? -order : order;
}

function isMissing(value: CellValue): boolean {
  return value === null || value === undefined || value === "" || Number.isNaN(value);
}
