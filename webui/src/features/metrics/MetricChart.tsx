import { useMemo } from "react";

import { idOf } from "@/data/experiments/metricNames";
import type { MetricId, SeriesAxis } from "@/data/series/types";
import { useSeries } from "@/data/series/useSeries";
import { chartSeries } from "@/ui/chart/fromSeries";
import { LineChart } from "@/ui/chart/LineChart";
import type { Mark, Range } from "@/ui/chart/types";
import { ErrorNotice } from "@/ui/feedback/Feedback";
import type { MenuEntry } from "@/ui/overlay/Menu";

/** Buckets of a series: about one a pixel of the widest chart of the grid. */
const BUCKETS = 800;
/** Many lines hide each other, and each bucket keeps its extremes: columns of two or three pixels do. */
const MANY_LINES = 24;
const COLUMN = 2.1;
const WIDTH = 630;

/** One metric of some runs. It reads its data while it is in view. */
export function MetricChart({
  metric,
  trialIds,
  liveIds,
  x,
  range,
  height,
  width = WIDTH,
  menu,
  title,
  empty,
  marks,
  bare,
}: {
  metric: MetricId;
  trialIds: readonly number[];
  liveIds: readonly number[];
  x: SeriesAxis;
  range: Range | undefined;
  height: number;
  /** About so wide, in px. */
  width?: number;
  menu?: readonly MenuEntry[];
  /** The name of the metric by default. */
  title?: string;
  /** Why there is nothing to draw. */
  empty?: string;
  marks?: readonly Mark[];
  /** Without legend and tools. */
  bare?: boolean;
}) {
  const metrics = useMemo(() => [metric], [metric]);
  const { series, isPending, error, refetch } = useSeries({
    trialIds,
    metrics,
    x,
    range,
    buckets: trialIds.length > MANY_LINES ? Math.round(width / COLUMN) : BUCKETS,
    liveTrialIds: liveIds,
  });
  const lines = useMemo(
    () => chartSeries(series ?? [], (each) => `trial ${each.trialId}`).filter((each) => each.count || each.nonFiniteCount),
    [series],
  );
  if (error && !series) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  return (
    <LineChart
      title={title ?? idOf(metric)}
      series={lines}
      x={x}
      height={height}
      loading={isPending}
      {...(menu ? { menu } : {})}
      {...(empty ? { empty } : {})}
      {...(marks ? { marks } : {})}
      {...(bare ? { bare } : {})}
    />
  );
}
