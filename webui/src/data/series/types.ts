/** Metrics over an axis, in columns. */

export interface MetricId {
  group: string;
  name: string;
}

/** `relative` is seconds since the trial's first report of the metric, `time` unix seconds. */
export type SeriesAxis = "batches" | "epochs" | "relative" | "time" | `metric:${string}`;

export interface TrialSeries extends MetricId {
  trialId: number;
  /** Finite values behind the points. */
  count: number;
  bucketed: boolean;
  x: number[];
  last: number[];
  /** Empty unless bucketed; then a bucket's extremes and number of values. */
  min: number[];
  max: number[];
  n: number[];
  /** Unix seconds. */
  time: number[];
  nonFinite: { x: number; value: string }[];
  nonFiniteCount: number;
  /** Values whose report lacks a number on the axis. */
  withoutX: number;
}

export interface SeriesQuery {
  trialIds: readonly number[];
  metrics: readonly MetricId[];
  x: SeriesAxis;
  range?: readonly [number, number] | undefined;
  /** About one bucket a pixel of the chart's width. */
  buckets: number;
}

/** Values of one trial and group, in columns: what the live topic `metrics:TRIAL` sends. */
export interface LiveReports {
  trialId: number;
  group: string;
  batches: number[];
  metrics: Record<string, unknown[]>;
  times: string[];
}
