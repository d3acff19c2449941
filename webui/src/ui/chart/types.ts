/** What a chart takes: series, marks, settings. */

export type Numbers = ArrayLike<number>;

/** `relative` is seconds since the series' first report, `time` unix seconds. */
export type XAxis = "batches" | "epochs" | "relative" | "time" | `metric:${string}`;

export interface NonFinite {
  x: number;
  /** `NaN`, `Infinity` or `-Infinity`. */
  value: string;
}

export interface ChartSeries {
  /** Unique in the chart. */
  id: string;
  label: string;
  /** What decides the hue: the run's id. The series' id where it is absent. */
  runId?: string | number;
  /** Ascending. */
  x: Numbers;
  /** The last value of each bucket; NaN is a gap. */
  y: Numbers;
  /** The extremes of each bucket. */
  min?: Numbers;
  max?: Numbers;
  /** Unix seconds of each point. */
  time?: Numbers;
  nonFinite?: readonly NonFinite[];
  nonFiniteCount?: number;
  /** The number of values behind the points. */
  count?: number;
}

export type MarkKind = "best" | "checkpoint" | "restart" | "pause" | "policy" | "note";

export interface Mark {
  kind: MarkKind;
  x: number;
  /** What the mark says when the cursor is near. */
  label: string;
  /** The series whose line carries the mark; without it the mark stands at the lower edge. */
  seriesId?: string;
  /** The end of a pause. */
  xEnd?: number;
}

export type YScale = "linear" | "log" | "symlog";
export type YRange = "auto" | "zero" | "manual" | "clip";
export type SmoothingKind = "none" | "ema" | "mean" | "gaussian";

export interface Smoothing {
  kind: SmoothingKind;
  /** `ema`: 0 to 0.99; `mean`: points of the window; `gaussian`: points of one deviation. */
  amount: number;
}

export interface ChartSettings {
  yScale: YScale;
  yRange: YRange;
  yMin: number | undefined;
  yMax: number | undefined;
  smoothing: Smoothing;
  bands: boolean;
}

export const DEFAULT_SETTINGS: ChartSettings = {
  yScale: "linear",
  yRange: "auto",
  yMin: undefined,
  yMax: undefined,
  smoothing: { kind: "none", amount: 0.6 },
  bands: true,
};

export type Range = readonly [number, number];

/** The name of an axis as the chart shows it. */
export function axisName(x: XAxis): string {
  if (x.startsWith("metric:")) return x.slice("metric:".length);
  return { batches: "Batches", epochs: "Epochs", relative: "Time since start", time: "Time" }[
    x as "batches" | "epochs" | "relative" | "time"
  ];
}
