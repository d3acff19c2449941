/**
 * Metrics of trials over an axis, kept up to date.
 *
 *     const { series, isPending, error } = useSeries({
 *       trialIds: [12], metrics: [{ group: "validation", name: "loss" }],
 *       x: "batches", range: zoom, buckets: width, liveTrialIds: running ? [12] : [],
 *     });
 *
 * While a new range loads, the series of the one before stay. Give `liveTrialIds` the trials that
 * have not ended; `enabled` is false while the chart is out of view.
 */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";

import { live, usePollInterval } from "@/data/live";
import { POLL_MS } from "@/data/queryClient";

import { appended, pointsOf, sinceFirst } from "./merge";
import { readTogether } from "./together";
import type { LiveReports, SeriesQuery, TrialSeries } from "./types";

/** Frames that come within this time change the chart together. */
const GATHER_MS = 200;
/** So long the first reading waits for its topics: one that begins before must be repeated. */
const CONFIRM_MS = 150;
/** A connection has 64 topics. Charts of more running trials are read again from time to time. */
const MAX_FOLLOWED = 48;

export interface SeriesOptions extends SeriesQuery {
  liveTrialIds?: readonly number[];
  enabled?: boolean;
}

export function useSeries(options: SeriesOptions) {
  const { trialIds, metrics, x, buckets, enabled = true } = options;
  const cache = useQueryClient();
  // Ranges of time since the first report differ from trial to trial: all of it is read.
  const range = x === "relative" ? undefined : options.range;
  const text = JSON.stringify([trialIds, metrics, x, range ?? null, buckets]);
  const key = useMemo(() => ["series", text] as const, [text]);
  const liveIds = options.liveTrialIds ?? [];
  const poll = usePollInterval(POLL_MS);
  const isFollowed = enabled && liveIds.length <= MAX_FOLLOWED;
  const topics = isFollowed ? liveIds.map((id) => `metrics:${id}`).join(" ") : "";
  const [reads, setReads] = useState(topics === "");
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => readTogether({ trialIds, metrics, x, range, buckets }, signal),
    enabled: enabled && reads && trialIds.length > 0 && metrics.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: liveIds.length === 0 ? false : liveIds.length > MAX_FOLLOWED ? 2 * POLL_MS : poll,
    staleTime: 10_000,
  });

  const shown = useRef({ key, x, range, buckets });
  useEffect(() => {
    shown.current = { key, x, range, buckets };
  });
  const hasRead = useRef(reads);
  useEffect(() => {
    const read = () => {
      hasRead.current = true;
      setReads(true);
    };
    if (!topics) {
      read();
      return;
    }
    const names = topics.split(" ");
    const silent = new Set(names.filter((topic) => !live.isConfirmed(topic)));
    if (silent.size === 0) read();
    const limit = setTimeout(read, CONFIRM_MS);
    const reports: LiveReports[] = [];
    let stale = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      const { key: current, ...query } = shown.current;
      const old = cache.getQueryData<TrialSeries[]>(current);
      const next = stale ? undefined : old && withReports(old, reports, query);
      reports.length = 0;
      stale = false;
      if (next) cache.setQueryData(current, next);
      else void cache.invalidateQueries({ queryKey: current });
    };
    const leave = names.map((topic) =>
      live.subscribe(topic, (frame) => {
        const data = frame.data as Partial<LiveReports> | undefined;
        silent.delete(topic);
        if (!hasRead.current) {
          // The first reading begins after this frame, and has what is in it.
          if (silent.size === 0) read();
          return;
        }
        if (frame.op === "error") return;
        // The frame that confirms the subscription has no reports: those between the first reading
        // and the subscription are read now.
        if (frame.op === "append" && data?.metrics) reports.push(data as LiveReports);
        else stale = true;
        timer ??= setTimeout(flush, GATHER_MS);
      }),
    );
    return () => {
      clearTimeout(limit);
      clearTimeout(timer);
      leave.forEach((each) => each());
    };
  }, [topics, cache]);

  const series = useMemo(
    () => (x === "relative" ? query.data?.map(sinceFirst) : query.data),
    [query.data, x],
  );
  return {
    series,
    isPending: query.isPending,
    isPlaceholder: query.isPlaceholderData,
    error: query.error,
    refetch: query.refetch,
  };
}

/** Undefined where a series must be read again. */
export function withReports(
  series: readonly TrialSeries[],
  reports: readonly LiveReports[],
  { x, range, buckets }: Pick<SeriesQuery, "x" | "range" | "buckets">,
): TrialSeries[] | undefined {
  const next: TrialSeries[] = [];
  for (const old of series) {
    let current = old;
    for (const report of reports) {
      if (report.trialId !== old.trialId || report.group !== old.group) continue;
      const points = pointsOf(report, old.name, x).filter(
        (point) => !range || point.x === undefined || (point.x >= range[0] && point.x <= range[1]),
      );
      if (points.length === 0) continue;
      const longer = appended(current, points, buckets);
      if (!longer) return undefined;
      current = longer;
    }
    next.push(current);
  }
  return next;
}
