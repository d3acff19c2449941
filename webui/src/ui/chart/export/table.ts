/** The drawn data as a table, CSV and JSON. */
import type { Trace } from "../math/trace";
import { axisName, type Numbers, type Range, type Smoothing, type XAxis } from "../types";

export interface DataTable {
  columns: string[];
  /** The place on x, then a value for each column; undefined where a trace has no point there. */
  rows: (number | undefined)[][];
}

/** All traces joined by x, within a range; `note` says how the values were smoothed. */
export function dataTable(traces: readonly Trace[], axis: XAxis, within: Range, note = ""): DataTable {
  const rows = new Map<number, (number | undefined)[]>();
  traces.forEach((trace, column) => {
    for (let i = 0; i < trace.x.length; i++) {
      const x = trace.x[i] as number;
      if (x < within[0] || x > within[1]) continue;
      const row = rows.get(x) ?? [x, ...traces.map(() => undefined)];
      row[column + 1] = trace.values[i] as number;
      rows.set(x, row);
    }
  });
  const sorted = [...rows.values()].sort((a, b) => (a[0] as number) - (b[0] as number));
  const labels = traces.map(({ label }) => (note ? `${label}, ${note}` : label));
  return { columns: [axisName(axis), ...labels], rows: sorted };
}

export function toCsv({ columns, rows }: DataTable): string {
  const lines = [columns.map(cell).join(",")];
  for (const row of rows) lines.push(row.map((value) => (value === undefined ? "" : String(value))).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

/** A quoted cell. A leading sign that a spreadsheet would run as a formula gets an apostrophe. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function toJson(title: string, traces: readonly Trace[], axis: XAxis, smoothing: Smoothing): string {
  const series = traces.map((trace) => ({
    label: trace.label,
    x: list(trace.x),
    y: list(trace.values),
    nonFinite: trace.nonFinite,
  }));
  return `${JSON.stringify({ title, x: axis, smoothing: smoothing.kind === "none" ? null : smoothing, series }, null, 1)}\n`;
}

/** JSON has no NaN; gaps are null. */
function list(values: Numbers): (number | null)[] {
  return Array.from(values, (value) => (Number.isFinite(value) ? value : null));
}
