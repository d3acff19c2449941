/** Reads series: from the route made for charts, or, on a master without it, the public one. */
import { answer, api, request, type Schemas } from "@/api/client";
import { ApiError } from "@/api/errors";
import { wireNumber } from "@/data/format/numbers";

import { MAX_NON_FINITE } from "./merge";
import type { MetricId, SeriesAxis, SeriesQuery, TrialSeries } from "./types";

const MAX_TRIALS = 100;
const MAX_METRICS = 24;

/** A master that lacks the route is not asked again. */
let missing = false;

export async function readSeries(query: SeriesQuery, signal?: AbortSignal): Promise<TrialSeries[]> {
  const parts: Promise<TrialSeries[]>[] = [];
  for (const trialIds of chunks(query.trialIds, MAX_TRIALS))
    for (const metrics of chunks(query.metrics, MAX_METRICS))
      parts.push(readPart({ ...query, trialIds, metrics }, signal));
  return (await Promise.all(parts)).flat();
}

async function readPart(query: SeriesQuery, signal: AbortSignal | undefined): Promise<TrialSeries[]> {
  if (!missing) {
    try {
      return await fromCharts(query, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || !isMissing(error)) throw error;
      missing = true;
    }
  }
  return fromPublic(query, signal);
}

/** A trial that does not exist answers 404 too; such an answer names it. */
function isMissing({ status, message }: ApiError): boolean {
  return status === 501 || status === 405 || (status === 404 && !/trial/i.test(message));
}

async function fromCharts({ trialIds, metrics, x, range, buckets }: SeriesQuery, signal?: AbortSignal) {
  const body = {
    trialIds,
    metrics,
    x: x === "relative" ? "time" : x,
    xMin: range?.[0] ?? null,
    xMax: range?.[1] ?? null,
    buckets: Math.max(1, Math.min(4000, Math.round(buckets))),
    sharesPlaces: true,
  };
  const options = signal ? { body, signal } : { body };
  return withPlaces((await request<{ series: SentSeries[] }>("POST", "/api/ui/v1/series", options)).series);
}

/** A series as it is sent: with `placesOf`, it has the places of that metric of its trial and group. */
type SentSeries = TrialSeries & { placesOf?: string };

/** Gives each series its places. */
export function withPlaces(sent: readonly SentSeries[]): TrialSeries[] {
  const keyOf = (series: SentSeries, name: string) => JSON.stringify([series.trialId, series.group, name]);
  const known = new Map(sent.map((series) => [keyOf(series, series.name), series]));
  return sent.map(({ placesOf, ...series }) => {
    const other = placesOf ? known.get(keyOf(series, placesOf)) : undefined;
    return other ? { ...series, x: other.x, n: other.n, time: other.time } : series;
  });
}

async function fromPublic(query: SeriesQuery, signal?: AbortSignal): Promise<TrialSeries[]> {
  const { trialIds, metrics, x, range, buckets } = query;
  const names = metrics.map(({ group, name }) => `${group}.${name}`);
  const axisName = x === "epochs" ? "epochs" : x.startsWith("metric:") ? x.slice("metric:".length) : undefined;
  if (axisName) for (const group of new Set(metrics.map((each) => each.group))) names.push(`${group}.${axisName}`);
  const bounds =
    x === "batches" && range
      ? { startBatches: Math.max(0, Math.floor(range[0])), endBatches: Math.ceil(range[1]) }
      : {};
  const { trials } = await answer(
    api.GET("/api/v1/trials/time-series", {
      params: { query: { trialIds: [...trialIds], metricIds: names, maxDatapoints: Math.round(buckets), ...bounds } },
      ...(signal ? { signal } : {}),
    }),
  );
  const byTrial = new Map((trials ?? []).map((each) => [each.trial?.id, each.metrics ?? []]));
  return trialIds.flatMap((trialId) =>
    metrics.map((metric) => seriesOf(trialId, metric, x, byTrial.get(trialId) ?? [], range)),
  );
}

type Group = Schemas["DownsampledMetrics"];

/** The series of one trial and metric in an answer of the public route. */
export function seriesOf(
  trialId: number,
  metric: MetricId,
  axis: SeriesAxis,
  groups: readonly Group[],
  range?: readonly [number, number],
): TrialSeries {
  const series: TrialSeries = {
    ...metric,
    trialId,
    count: 0,
    bucketed: false,
    x: [],
    last: [],
    min: [],
    max: [],
    n: [],
    time: [],
    nonFinite: [],
    nonFiniteCount: 0,
    withoutX: 0,
  };
  const data = groups.find((each) => each.group === metric.group)?.data ?? [];
  const points = data.flatMap((point) => {
    const value = wireNumber(point.values?.[metric.name]);
    if (value === undefined) return [];
    const x = placeOf(point, axis);
    if (x === undefined) series.withoutX += 1;
    return x === undefined || (range && (x < range[0] || x > range[1])) ? [] : [{ x, value, time: seconds(point.time) }];
  });
  points.sort((a, b) => a.x - b.x);
  for (const { x, value, time } of points) {
    if (Number.isFinite(value)) {
      series.x.push(x);
      series.last.push(value);
      series.time.push(time);
      series.count += 1;
      continue;
    }
    series.nonFiniteCount += 1;
    if (series.nonFinite.length < MAX_NON_FINITE) series.nonFinite.push({ x, value: String(value) });
  }
  return series;
}

function placeOf(point: Schemas["DataPoint"], axis: SeriesAxis): number | undefined {
  if (axis === "batches") return point.batches;
  if (axis === "time" || axis === "relative") return seconds(point.time);
  // Trainers report the epoch with the point, or as a metric of the same report.
  const name = axis === "epochs" ? "epochs" : axis.slice("metric:".length);
  const x = axis === "epochs" && point.epoch !== undefined ? point.epoch : wireNumber(point.values?.[name]);
  return x !== undefined && Number.isFinite(x) ? x : undefined;
}

function seconds(iso: string | undefined): number {
  return Date.parse(iso ?? "") / 1000;
}

function chunks<T>(list: readonly T[], size: number): T[][] {
  const out: T[][] = [];
  for (let i = 0; i < list.length; i += size) out.push(list.slice(i, i + size));
  return out;
}
