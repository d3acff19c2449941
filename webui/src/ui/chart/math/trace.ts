/** Traces: series made ready to be drawn, in the space of the y scale, with gaps as NaN. */
import type { ChartSeries, NonFinite, Numbers } from "../types";
import type { Scale } from "./scales";

export interface Trace {
  id: string;
  label: string;
  x: Numbers;
  /** The values of the line as they are shown: smoothed where smoothing is on. */
  values: Numbers;
  /** `values` in the scale's space. */
  y: Float64Array;
  /** The line before smoothing, in the scale's space. */
  raw: Float64Array | undefined;
  low: Float64Array | undefined;
  high: Float64Array | undefined;
  time: Numbers | undefined;
  nonFinite: readonly NonFinite[];
  nonFiniteCount: number;
  /** Values that a logarithmic scale cannot show. */
  hidden: number;
  colour: string;
  dash: readonly number[];
  width: number;
}

/** Arrays of one series after gaps are put in. */
export interface Gapped {
  x: Numbers;
  y: Numbers;
  min: Numbers | undefined;
  max: Numbers | undefined;
  time: Numbers | undefined;
  nonFinite: readonly NonFinite[];
  nonFiniteCount: number;
}

/** The line breaks where a value is not finite: such values become NaN at their place. */
export function withGaps(series: ChartSeries): Gapped {
  const inLine = bare(series);
  const listed = series.nonFinite ?? [];
  const nonFinite = [...listed, ...inLine].sort((a, b) => a.x - b.x);
  const nonFiniteCount = Math.max(series.nonFiniteCount ?? 0, listed.length) + inLine.length;
  const base = { min: series.min, max: series.max, time: series.time };
  if (listed.length === 0)
    return { ...base, x: series.x, y: series.y, nonFinite, nonFiniteCount };
  const order = merged(series.x, listed.map((each) => each.x).sort((a, b) => a - b));
  const pick = (list: Numbers | undefined) =>
    list && Float64Array.from(order, ([index]) => (index < 0 ? NaN : (list[index] as number)));
  return {
    x: Float64Array.from(order, ([, x]) => x),
    y: pick(series.y) as Numbers,
    min: pick(series.min),
    max: pick(series.max),
    time: pick(series.time),
    nonFinite,
    nonFiniteCount,
  };
}

function bare({ x, y }: ChartSeries): NonFinite[] {
  const found: NonFinite[] = [];
  for (let i = 0; i < y.length; i++) {
    const value = y[i] as number;
    if (value === Infinity || value === -Infinity)
      found.push({ x: x[i] as number, value: String(value) });
  }
  return found;
}

/** Both ascending lists in one order: an index of the first list, or -1 for a gap. */
function merged(x: Numbers, gaps: readonly number[]): (readonly [number, number])[] {
  const order: (readonly [number, number])[] = [];
  let next = 0;
  for (let i = 0; i < x.length; i++) {
    const at = x[i] as number;
    while (next < gaps.length && (gaps[next] as number) < at) order.push([-1, gaps[next++] as number]);
    order.push([i, at]);
  }
  while (next < gaps.length) order.push([-1, gaps[next++] as number]);
  return order;
}

export interface Look {
  colour: string;
  dash: readonly number[];
  width: number;
}

/** The trace of a series; `smooth` are the smoothed values, aligned with `gapped`. */
export function traceOf(
  series: ChartSeries,
  gapped: Gapped,
  smooth: Numbers | undefined,
  scale: Scale,
  look: Look,
): Trace {
  const values = smooth ?? gapped.y;
  const y = placed(values, scale);
  return {
    id: series.id,
    label: series.label,
    x: gapped.x,
    values,
    y,
    raw: smooth ? placed(gapped.y, scale) : undefined,
    low: gapped.min && gapped.min.length > 0 ? placedLow(gapped.min, gapped.y, scale) : undefined,
    high: gapped.max && gapped.max.length > 0 ? placed(gapped.max, scale) : undefined,
    time: gapped.time,
    nonFinite: gapped.nonFinite,
    nonFiniteCount: gapped.nonFiniteCount,
    hidden: scale.kind === "log" ? notPositive(gapped.y) : 0,
    ...look,
  };
}

function placed(values: Numbers, scale: Scale): Float64Array {
  const out = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    out[i] = Number.isFinite(value) ? scale.to(value) : NaN;
  }
  return out;
}

/** The lower edge of a band that reaches below zero ends, on a logarithmic scale, at the line. */
function placedLow(low: Numbers, line: Numbers, scale: Scale): Float64Array {
  const out = placed(low, scale);
  if (scale.kind !== "log") return out;
  for (let i = 0; i < out.length; i++)
    if (Number.isNaN(out[i] as number)) out[i] = scale.to(line[i] as number);
  return out;
}

/** A logarithmic scale hides every value of these traces. */
export function hidesAll(traces: readonly Trace[]): boolean {
  const isHidden = traces.some((each) => each.hidden > 0);
  return isHidden && traces.every((each) => each.y.every((place) => Number.isNaN(place)));
}

function notPositive(values: Numbers): number {
  let count = 0;
  for (let i = 0; i < values.length; i++) if ((values[i] as number) <= 0) count += 1;
  return count;
}
