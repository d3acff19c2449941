/** One metric of many devices over time, as rows of cells. */
import type { SystemSeries } from "./samples";

export interface Cell {
  row: number;
  column: number;
  /** Of the values in the cell's time. */
  mean: number;
  count: number;
}

export interface Strip {
  cells: Cell[];
  /** Unix seconds. */
  from: number;
  to: number;
}

/** A row a series, in their order; times without a value have no cell. */
export function stripOf(series: readonly SystemSeries[], columns: number): Strip {
  let [from, to] = [Infinity, -Infinity];
  for (const { x } of series) {
    from = Math.min(from, x[0] ?? Infinity);
    to = Math.max(to, x[x.length - 1] ?? -Infinity);
  }
  const width = (to - from) / columns || 1;
  const cells = series.flatMap(({ x, last }, row) => {
    const found = new Map<number, Cell>();
    x.forEach((at, i) => {
      const column = Math.min(columns - 1, Math.floor((at - from) / width));
      const cell = found.get(column) ?? { row, column, mean: 0, count: 0 };
      cell.mean = (cell.mean * cell.count + (last[i] as number)) / (cell.count + 1);
      cell.count += 1;
      found.set(column, cell);
    });
    return [...found.values()];
  });
  return { cells, from, to };
}

/** As many columns as have room and, for most series, values. */
export function columnsFor(series: readonly SystemSeries[], pixels: number): number {
  const longest = series.reduce((most, { x }) => Math.max(most, x.length), 1);
  return Math.max(1, Math.min(longest, Math.floor(pixels / 6)));
}
