/** Points near the cursor. */
import type { Numbers, Range } from "../types";
import type { Trace } from "./trace";

/** The index of the value nearest to `x` in an ascending list; -1 for an empty one. */
export function nearestIndex(list: Numbers, x: number): number {
  let low = 0;
  let high = list.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) < x) low = middle;
    else high = middle;
  }
  return Math.abs((list[low] as number) - x) <= Math.abs((list[high] as number) - x) ? low : high;
}

export interface Hit {
  trace: Trace;
  index: number;
  x: number;
  value: number;
  /** In the scale's space. */
  y: number;
  /** The text of a value that is not finite. */
  nonFinite: string | undefined;
}

/**
 * The points at the cursor, one a trace. A trace that ends before the cursor, or begins after it,
 * has none; `reach` is the distance on x that still counts as near.
 */
export function hitsAt(traces: readonly Trace[], x: number, reach: number): Hit[] {
  const hits: Hit[] = [];
  for (const trace of traces) {
    const index = nearestIndex(trace.x, x);
    if (index < 0) continue;
    const at = trace.x[index] as number;
    const ends = x < (trace.x[0] as number) || x > (trace.x[trace.x.length - 1] as number);
    if (ends && Math.abs(at - x) > reach) continue;
    const value = trace.values[index] as number;
    const known = Number.isFinite(value);
    const odd = known ? undefined : trace.nonFinite.find((each) => each.x === at);
    if (!known && !odd) continue;
    hits.push({ trace, index, x: at, value, y: trace.y[index] as number, nonFinite: odd?.value });
  }
  return hits;
}

export const MAX_ROWS = 12;

export interface TooltipRows {
  rows: Hit[];
  more: number;
  /** The row nearest to the pointer. */
  nearest: Hit | undefined;
}

/** At most `MAX_ROWS` hits: those nearest to the pointer's `y`, sorted by value, largest first. */
export function tooltipRows(hits: readonly Hit[], y: number): TooltipRows {
  const distance = (hit: Hit) => (Number.isNaN(hit.y) ? Infinity : Math.abs(hit.y - y));
  const near = [...hits].sort((a, b) => distance(a) - distance(b));
  const rows = near.slice(0, MAX_ROWS).sort((a, b) => rank(b) - rank(a));
  const nearest = near[0] && distance(near[0]) < Infinity ? near[0] : undefined;
  return { rows, more: hits.length - rows.length, nearest };
}

/** NaN stands below all numbers. */
function rank({ value, nonFinite }: Hit): number {
  if (nonFinite === "Infinity") return Number.MAX_VALUE;
  if (nonFinite !== undefined || Number.isNaN(value)) return -Number.MAX_VALUE;
  return value;
}

/** The indices of an ascending list that a range covers, with one neighbour on each side. */
export function indicesIn(list: Numbers, [from, to]: Range): readonly [number, number] {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) < from) low = middle + 1;
    else high = middle;
  }
  const first = Math.max(0, low - 1);
  high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) <= to) low = middle + 1;
    else high = middle;
  }
  return [first, Math.min(list.length - 1, low)];
}
