/** The charts of a run's system metrics. The axis and the zoom stand in the address. */
import { useMemo, type ReactNode } from "react";

import { chartsOf, lineNames, placesOf, type SystemChart } from "@/data/profiler/charts";
import { drawn, type SystemSeries } from "@/data/profiler/samples";
import { useChartAddress } from "@/features/metrics/useChartAddress";
import { ChartGrid, type CellProps } from "@/ui/chart/ChartGrid";
import { chartSeries } from "@/ui/chart/fromSeries";
import { LineChart } from "@/ui/chart/LineChart";
import { ChartSyncProvider } from "@/ui/chart/sync";
import type { Range } from "@/ui/chart/types";
import { Segments } from "@/ui/field/Field";

import { DeviceStrip, LEAST_DEVICES } from "./DeviceStrip";

type Axis = "time" | "relative";

/** About one bucket a pixel of the widest chart of the grid. */
const BUCKETS = 800;

const AXES = [
  { value: "time", label: "Wall time" },
  { value: "relative", label: "Since the start" },
] as const;

export function SystemCharts({ series, controls }: { series: readonly SystemSeries[]; controls?: ReactNode }) {
  const { x, range, change, onRange } = useChartAddress("time");
  const axis: Axis = x === "relative" ? "relative" : "time";
  const charts = useMemo(() => chartsOf(series), [series]);
  const byId = useMemo(() => new Map(charts.map((each) => [each.id, each])), [charts]);
  const place = useMemo(() => placesOf(series), [series]);
  const origin = useMemo(() => (axis === "relative" ? firstOf(series) : 0), [axis, series]);
  const gpus = useMemo(() => series.filter((each) => each.name === "gpu_util"), [series]);
  return (
    <ChartSyncProvider axis={axis} range={range} onRange={onRange}>
      {gpus.length >= LEAST_DEVICES && (
        <div style={{ marginBottom: 16 }}>
          <DeviceStrip series={gpus} />
        </div>
      )}
      <ChartGrid
        ids={charts.map((each) => each.id)}
        controls={
          <>
            {controls}
            <Segments<Axis>
              label="Axis"
              value={axis}
              options={AXES}
              onValue={(value) => change("x", value === "time" ? undefined : value)}
            />
          </>
        }
      >
        {(id, cell) => {
          const chart = byId.get(id);
          return chart && <ChartOf {...{ chart, axis, range, origin, place, cell }} />;
        }}
      </ChartGrid>
    </ChartSyncProvider>
  );
}

function ChartOf({
  chart: { title, scale, series },
  axis,
  range,
  origin,
  place,
  cell,
}: {
  chart: SystemChart;
  axis: Axis;
  range: Range | undefined;
  origin: number;
  place(series: SystemSeries): number;
  cell: CellProps;
}) {
  const lines = useMemo(() => {
    const name = lineNames(series);
    return series.flatMap((each) =>
      chartSeries([drawn(each, { range, origin, scale, buckets: BUCKETS })], () => name(each)).map((line) => ({
        ...line,
        id: `${each.agent} ${each.device}`,
        runId: place(each),
      })),
    );
  }, [series, range, origin, scale, place]);
  return <LineChart title={title} series={lines} x={axis} height={cell.height} menu={cell.menu} />;
}

function firstOf(series: readonly SystemSeries[]): number {
  return series.reduce((first, { x }) => Math.min(first, x[0] ?? Infinity), Infinity);
}
