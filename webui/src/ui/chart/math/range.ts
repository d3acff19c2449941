/** The ranges of the axes. */
import type { ChartSettings, Range } from "../types";
import { quantile, type Scale } from "./scales";
import type { Trace } from "./trace";

/** Ranges end here: beyond it a difference of two values may be infinite. */
export const LIMIT = 1e307;

export function xExtent(lists: readonly ArrayLike<number>[]): Range | undefined {
  let low = Infinity;
  let high = -Infinity;
  for (const x of lists) {
    if (x.length === 0) continue;
    low = Math.min(low, x[0] as number);
    high = Math.max(high, x[x.length - 1] as number);
  }
  return low <= high ? widen(low, high) : undefined;
}

/** The range of y in the scale's space, for the traces within the range of x. */
export function yRangeOf(
  traces: readonly Trace[],
  within: Range,
  scale: Scale,
  settings: Pick<ChartSettings, "yRange" | "yMin" | "yMax" | "bands">,
): Range {
  const clip = settings.yRange === "clip";
  const [low, high] = clip ? inner(traces, within) : extremes(traces, within, settings.bands);
  if (!(low <= high)) return emptyRange(scale, settings);
  const padded = pad(low, high);
  if (settings.yRange === "zero" && scale.kind !== "log")
    return widen(low >= 0 ? 0 : padded[0], high <= 0 ? 0 : padded[1]);
  if (settings.yRange !== "manual") return padded;
  const [from, to] = bounds(scale, settings);
  const a = Number.isFinite(from) ? from : padded[0];
  const b = Number.isFinite(to) ? to : padded[1];
  return a < b ? [a, b] : padded;
}

function bounds(scale: Scale, { yMin, yMax }: Pick<ChartSettings, "yMin" | "yMax">): Range {
  return [yMin === undefined ? NaN : scale.to(yMin), yMax === undefined ? NaN : scale.to(yMax)];
}

function emptyRange(scale: Scale, settings: Pick<ChartSettings, "yMin" | "yMax">): Range {
  const [from, to] = bounds(scale, settings);
  return from < to ? [from, to] : [0, 1];
}

function extremes(traces: readonly Trace[], [from, to]: Range, bands: boolean): Range {
  let low = Infinity;
  let high = -Infinity;
  const take = (value: number) => {
    if (value < low) low = value;
    if (value > high) high = value;
  };
  for (const trace of traces) {
    const lows = bands && trace.low ? trace.low : trace.raw ?? trace.y;
    const highs = bands && trace.high ? trace.high : trace.raw ?? trace.y;
    for (let i = 0; i < trace.x.length; i++) {
      const x = trace.x[i] as number;
      if (x < from || x > to) continue;
      take(lows[i] as number);
      take(highs[i] as number);
    }
  }
  return [clamp(low), clamp(high)];
}

/** The values between the quantiles 5 % and 95 %. */
function inner(traces: readonly Trace[], [from, to]: Range): Range {
  const values: number[] = [];
  for (const trace of traces) {
    for (let i = 0; i < trace.x.length; i++) {
      const x = trace.x[i] as number;
      const y = trace.y[i] as number;
      if (x >= from && x <= to && !Number.isNaN(y)) values.push(y);
    }
  }
  values.sort((a, b) => a - b);
  if (values.length === 0) return [Infinity, -Infinity];
  return [clamp(quantile(values, 0.05)), clamp(quantile(values, 0.95))];
}

function clamp(value: number): number {
  if (value === Infinity || value === -Infinity) return value;
  return Math.max(-LIMIT, Math.min(LIMIT, value));
}

function pad(low: number, high: number): Range {
  if (low === high) return widen(low, high);
  const room = (high - low) * 0.05;
  return [low - room, high + room];
}

/** A range of one value gets room on both sides. */
export function widen(low: number, high: number): Range {
  if (low < high) return [low, high];
  const room = Math.abs(low) * 0.1 || 1;
  return [low - room, low + room];
}

/** A range `factor` as wide around `centre`, inside `limits`. */
export function zoomed(range: Range, limits: Range, factor: number, centre: number): Range {
  const from = centre - (centre - range[0]) * factor;
  const to = centre + (range[1] - centre) * factor;
  return inside([from, to], limits);
}

/** The range moved by the fraction `by` of its width, inside `limits`. */
export function panned(range: Range, limits: Range, by: number): Range {
  const width = range[1] - range[0];
  let shift = width * by;
  shift = Math.max(limits[0] - range[0], Math.min(limits[1] - range[1], shift));
  return [range[0] + shift, range[1] + shift];
}

function inside([from, to]: Range, limits: Range): Range {
  const a = Math.max(from, limits[0]);
  const b = Math.min(to, limits[1]);
  const least = (limits[1] - limits[0]) * 1e-9;
  return b - a > least ? [a, b] : [Math.max(a - least, limits[0]), Math.min(a + least, limits[1])];
}
