/** The words of a chart: its summary for screen readers, and the text of its cursor. */
import { formatNumber, plural } from "@/data/format/numbers";
import { formatDuration, formatInstant } from "@/data/format/times";

import { axisName, type Numbers, type Smoothing, type XAxis } from "../types";
import type { Hit } from "./nearest";
import type { Trace } from "./trace";

const MAX_NAMED = 5;

export function summaryOf(title: string, traces: readonly Trace[], axis: XAxis): string {
  if (traces.length === 0) return `${title}: no data.`;
  const named = traces.slice(0, MAX_NAMED).map(traceSummary);
  const rest = traces.length - named.length;
  return [
    `${title} over ${axisName(axis).toLowerCase()}, ${plural(traces.length, "line")}.`,
    ...named,
    ...(rest > 0 ? [`${rest} more.`] : []),
  ].join(" ");
}

function traceSummary({ label, values, nonFiniteCount }: Trace): string {
  const { first, last, low, high } = extremes(values);
  if (first === undefined) return `${label}: no finite value.`;
  const odd = nonFiniteCount > 0 ? `, ${nonFiniteCount} not finite` : "";
  return `${label}: from ${formatNumber(first)} to ${formatNumber(last)}, lowest ${formatNumber(low)}, highest ${formatNumber(high)}${odd}.`;
}

export function extremes(values: Numbers) {
  let first: number | undefined;
  let last: number | undefined;
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (!Number.isFinite(value)) continue;
    first ??= value;
    last = value;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return { first, last, low, high };
}

/** A place on x in words: `batch 1,200`, `1h 04m`, an instant. */
export function placeText(x: number, axis: XAxis): string {
  if (axis === "time") return formatInstant(new Date(x * 1000).toISOString());
  if (axis === "relative") return x < 60 ? `${Number(x.toFixed(2))}s` : formatDuration(x);
  if (axis === "batches") return `batch ${formatNumber(x)}`;
  if (axis === "epochs") return `epoch ${formatNumber(x)}`;
  return `${axisName(axis)} ${formatNumber(x)}`;
}

/** What is spoken when the keyboard's cursor stands on a point. */
export function spokenPoint(hit: Hit, axis: XAxis): string {
  const value = hit.nonFinite ?? formatNumber(hit.value);
  return `${hit.trace.label}, ${placeText(hit.x, axis)}: ${value}`;
}

export function smoothingText({ kind, amount }: Smoothing): string {
  if (kind === "none") return "";
  if (kind === "ema") return `smoothed (EMA ${amount})`;
  if (kind === "mean") return `smoothed (mean of ${amount})`;
  return `smoothed (Gaussian ${amount})`;
}
