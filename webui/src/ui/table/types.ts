import type { ReactNode } from "react";

export type { Sort, TableState } from "@/data/view/tableState";

export type Key = string | number;

/** A value that sorts, copies, and shows whether a cell has changed. */
export type CellValue = string | number | boolean | null | undefined;

export interface Column<R> {
  id: string;
  /** The full name; the header wraps it to two lines. */
  header: string;
  render(row: R): ReactNode;
  /** For sorting in memory, for the tint of a changed cell. */
  value?(row: R): CellValue;
  /** px; 140 by default. */
  width?: number;
  /** Takes what is left of a wide window. */
  grow?: boolean;
  align?: "start" | "end";
  sortable?: boolean;
  /** Pinned unless the person unpins it. */
  pin?: boolean;
  /** Shown only after the person chose it. */
  hidden?: boolean;
  type?: "text" | "number" | "date" | "state" | "list";
  /** The heading under which the column picker lists it. */
  group?: string;
  /** A ground for the cell, such as a heat map's colour. */
  tint?(row: R): string | undefined;
}

/** Rows by index; those that are not there yet are `undefined`. */
export interface RowSource<R> {
  /** `undefined` before the first answer. */
  readonly total: number | undefined;
  readonly error: unknown;
  rowAt(index: number): R | undefined;
  /** Rows from `first` to `last`, both included, are about to be shown. */
  ensure(first: number, last: number): void;
  /** Keys of a range, read from the master where rows are not loaded. */
  keysIn(first: number, last: number): Promise<Key[]>;
  /** The place of a row among those that are loaded, -1 for none. */
  indexOf(key: Key): number;
  subscribe(listener: () => void): () => void;
  /** Increases with each change. */
  getVersion(): number;
  retry(): void;
}

/**
 * Selected rows by key, so that they survive paging, sorting and filters.
 *
 * `all` is everything that matches the list's filter, except some.
 */
export interface Selection {
  all: boolean;
  /** The selected keys, or with `all` the excepted ones. */
  keys: ReadonlySet<Key>;
}
