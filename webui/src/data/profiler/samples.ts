/** Samples of system metrics as series: one of each name, agent and device. */
import { wireNumber } from "@/data/format/numbers";
import { MAX_NON_FINITE, rebucketed } from "@/data/series/merge";
import type { TrialSeries } from "@/data/series/types";

export type SampleKind = "system" | "timing" | "misc";

/** `group` is the kind; x and `time` are unix seconds. */
export interface SystemSeries extends TrialSeries {
  group: SampleKind;
  agent: string;
  /** The id of an accelerator, the path of a disk, or empty for the agent itself. */
  device: string;
}

/** One message of `/api/v1/trials/ID/profiler/metrics`: some values of one series. */
export interface SampleBatch {
  values?: unknown[];
  timestamps?: string[];
  labels?: { trialId?: number; name?: string; agentId?: string; gpuUuid?: string; metricType?: string };
}

const KINDS: Record<string, SampleKind> = {
  PROFILER_METRIC_TYPE_TIMING: "timing",
  PROFILER_METRIC_TYPE_MISC: "misc",
};

/** The series of a trial, each ascending in time, however their batches are cut and mixed. */
export function seriesOfBatches(batches: readonly SampleBatch[]): SystemSeries[] {
  const found = new Map<string, { labels: NonNullable<SampleBatch["labels"]>; points: [number, number][] }>();
  for (const { values = [], timestamps = [], labels = {} } of batches) {
    const key = JSON.stringify([labels.metricType, labels.name, labels.agentId, labels.gpuUuid]);
    const series = found.get(key) ?? { labels, points: [] };
    found.set(key, series);
    values.forEach((raw, i) => {
      const value = wireNumber(raw);
      const at = Date.parse(timestamps[i] ?? "") / 1000;
      if (value !== undefined && Number.isFinite(at)) series.points.push([at, value]);
    });
  }
  return [...found.values()].filter(({ points }) => points.length > 0).map(seriesOf).sort(byLabels);
}

function seriesOf({ labels, points }: { labels: NonNullable<SampleBatch["labels"]>; points: [number, number][] }): SystemSeries {
  points.sort((a, b) => a[0] - b[0]);
  const finite = points.filter(([, value]) => Number.isFinite(value));
  const others = points.filter(([, value]) => !Number.isFinite(value));
  const x = finite.map(([at]) => at);
  return {
    trialId: labels.trialId ?? 0,
    group: KINDS[labels.metricType ?? ""] ?? "system",
    name: labels.name ?? "",
    agent: labels.agentId ?? "",
    device: labels.gpuUuid ?? "",
    count: finite.length,
    bucketed: false,
    x,
    last: finite.map(([, value]) => value),
    min: [],
    max: [],
    n: [],
    time: x,
    nonFinite: others.slice(0, MAX_NON_FINITE).map(([at, value]) => ({ x: at, value: String(value) })),
    nonFiniteCount: others.length,
    withoutX: 0,
  };
}

const names = new Intl.Collator("en", { numeric: true });

function byLabels(a: SystemSeries, b: SystemSeries): number {
  return (
    names.compare(a.group, b.group) ||
    names.compare(a.name, b.name) ||
    names.compare(a.agent, b.agent) ||
    names.compare(a.device, b.device)
  );
}

/** The part of a series inside a range, and the points next to it, so that lines reach the edges. */
export function withinRange<S extends TrialSeries>(series: S, [from, to]: readonly [number, number]): S {
  const first = Math.max(0, series.x.findIndex((at) => at >= from) - 1);
  const beyond = series.x.findIndex((at) => at > to);
  const end = beyond < 0 ? series.x.length : beyond + 1;
  const isInside = series.x.length > 0 && (series.x[series.x.length - 1] as number) >= from;
  const cut = (list: number[]) => (isInside ? list.slice(first, end) : []);
  return {
    ...series,
    x: cut(series.x),
    last: cut(series.last),
    time: cut(series.time),
    nonFinite: series.nonFinite.filter(({ x }) => x >= from && x <= to),
  };
}

export interface Drawing {
  /** The shown range, in seconds since `origin`. */
  range: readonly [number, number] | undefined;
  /** The unix second that the axis begins at: 0 for wall time. */
  origin: number;
  /** Values are divided by it. */
  scale: number;
  buckets: number;
}

/** A series as a chart draws it: the shown part, in at most twice `buckets` points, no spike lost. */
export function drawn<S extends TrialSeries>(series: S, { range, origin, scale, buckets }: Drawing): S {
  const shown = range ? withinRange(series, [range[0] + origin, range[1] + origin]) : series;
  const cut = shown.x.length > 2 * buckets ? rebucketed(shown, buckets) : shown;
  const scaled = (list: number[]) => (scale === 1 ? list : list.map((value) => value / scale));
  return {
    ...series,
    ...cut,
    x: origin === 0 ? cut.x : cut.x.map((at) => at - origin),
    last: scaled(cut.last),
    min: scaled(cut.min),
    max: scaled(cut.max),
    nonFinite: cut.nonFinite.map(({ x, value }) => ({ x: x - origin, value })),
  };
}
