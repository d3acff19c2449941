/** Live reports put behind a series, and buckets joined when there are too many. */
import { wireNumber } from "@/data/format/numbers";

import type { LiveReports, SeriesAxis, TrialSeries } from "./types";

export const MAX_NON_FINITE = 1000;

/** One value of a metric; `x` is undefined where its report has none on the axis. */
export interface Point {
  x: number | undefined;
  value: number;
  time: number;
}

/** The values of one metric in live reports. */
export function pointsOf(reports: LiveReports, name: string, axis: SeriesAxis): Point[] {
  const values = reports.metrics[name] ?? [];
  const points: Point[] = [];
  values.forEach((raw, i) => {
    const value = wireNumber(raw);
    if (value === undefined) return;
    const time = Date.parse(reports.times[i] ?? "") / 1000;
    points.push({ x: placeOf(reports, i, time, axis), value, time });
  });
  return points;
}

function placeOf(reports: LiveReports, i: number, time: number, axis: SeriesAxis): number | undefined {
  if (axis === "batches") return reports.batches[i];
  if (axis === "time" || axis === "relative") return time;
  // Reports name the epoch either way.
  const names = axis === "epochs" ? ["epoch", "epochs"] : [axis.slice("metric:".length)];
  const place = names.map((name) => wireNumber(reports.metrics[name]?.[i])).find((each) => each !== undefined);
  return place !== undefined && Number.isFinite(place) ? place : undefined;
}

/**
 * The series with points behind it, or undefined where they do not follow it: the trial started
 * again from a checkpoint, and the series must be read again.
 */
export function appended(series: TrialSeries, points: readonly Point[], buckets: number): TrialSeries | undefined {
  const next = copy(series);
  let end = next.x[next.x.length - 1] ?? -Infinity;
  for (const { x, value, time } of points) {
    if (x === undefined) {
      next.withoutX += 1;
      continue;
    }
    if (x < end || (x === end && time <= (next.time[next.time.length - 1] ?? -Infinity))) return undefined;
    if (Number.isFinite(value)) {
      push(next, x, value, time);
      end = x;
    } else {
      next.nonFiniteCount += 1;
      if (next.nonFinite.length < MAX_NON_FINITE) next.nonFinite.push({ x, value: String(value) });
    }
  }
  return next.x.length > 2 * buckets ? rebucketed(next, buckets) : next;
}

function copy(series: TrialSeries): TrialSeries {
  return {
    ...series,
    x: [...series.x],
    last: [...series.last],
    min: [...series.min],
    max: [...series.max],
    n: [...series.n],
    time: [...series.time],
    nonFinite: [...series.nonFinite],
  };
}

function push(series: TrialSeries, x: number, value: number, time: number): void {
  series.x.push(x);
  series.last.push(value);
  series.time.push(time);
  series.count += 1;
  if (!series.bucketed) return;
  series.min.push(value);
  series.max.push(value);
  series.n.push(1);
}

/** At most `buckets` buckets of equal width. No extreme is lost. */
export function rebucketed(series: TrialSeries, buckets: number): TrialSeries {
  const { x, last, time } = series;
  if (x.length === 0) return series;
  const from = x[0] as number;
  const width = ((x[x.length - 1] as number) - from) / buckets || 1;
  const out: TrialSeries = { ...series, bucketed: true, x: [], last: [], min: [], max: [], n: [], time: [] };
  let current = -1;
  for (let i = 0; i < x.length; i++) {
    const bucket = Math.min(buckets - 1, Math.floor(((x[i] as number) - from) / width));
    const low = series.bucketed ? (series.min[i] as number) : (last[i] as number);
    const high = series.bucketed ? (series.max[i] as number) : (last[i] as number);
    const number = series.bucketed ? (series.n[i] as number) : 1;
    const at = out.x.length - (bucket === current ? 1 : 0);
    out.min[at] = bucket === current ? Math.min(out.min[at] as number, low) : low;
    out.max[at] = bucket === current ? Math.max(out.max[at] as number, high) : high;
    out.n[at] = (bucket === current ? (out.n[at] as number) : 0) + number;
    out.x[at] = x[i] as number;
    out.last[at] = last[i] as number;
    out.time[at] = time[i] as number;
    current = bucket;
  }
  return out;
}

/** A series over unix seconds as one over seconds since its first value. */
export function sinceFirst(series: TrialSeries): TrialSeries {
  const start = series.x[0];
  if (start === undefined) return series;
  return {
    ...series,
    x: series.x.map((x) => x - start),
    nonFinite: series.nonFinite.map(({ x, value }) => ({ x: x - start, value })),
  };
}
