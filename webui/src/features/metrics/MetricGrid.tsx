import { useMemo } from "react";

import { idOf, metricNames } from "@/data/experiments/metricNames";
import type { Trial } from "@/data/experiments/queries";
import { isFinished } from "@/data/states";
import { ChartGrid } from "@/ui/chart/ChartGrid";
import { ChartSyncProvider } from "@/ui/chart/sync";
import { Empty } from "@/ui/feedback/Feedback";
import { Select } from "@/ui/field/Field";

import { MetricChart } from "./MetricChart";
import { useChartAddress } from "./useChartAddress";

const AXES = [
  { value: "batches", label: "Batches" },
  { value: "epochs", label: "Epochs" },
  { value: "relative", label: "Time since the start" },
  { value: "time", label: "Wall time" },
];

/** A chart a metric over all given runs. The axis and the zoom stand in the address. */
export function MetricGrid({
  trials,
  searcherMetric,
}: {
  trials: readonly Trial[];
  searcherMetric?: string | undefined;
}) {
  const { x, range, change, onRange } = useChartAddress("batches");
  const names = useMemo(() => metricNames(trials, searcherMetric), [trials, searcherMetric]);
  const byId = useMemo(() => new Map(names.map((each) => [idOf(each), each])), [names]);
  const ids = useMemo(() => trials.flatMap((each) => each.id ?? []), [trials]);
  const running = trials.filter((each) => !isFinished(each.state)).flatMap((each) => each.id ?? []);
  const runningText = running.join(",");
  const liveIds = useMemo(() => runningText.split(",").filter(Boolean).map(Number), [runningText]);
  if (names.length === 0)
    return (
      <Empty title="No metrics yet">
        Charts appear when the training code reports metrics, for example with
        core_context.train.report_training_metrics().
      </Empty>
    );
  return (
    <ChartSyncProvider axis={x} range={range} onRange={onRange}>
      <ChartGrid
        ids={names.map(idOf)}
        first={searcherMetric && idOf({ group: "validation", name: searcherMetric })}
        controls={
          <Select label="Axis" hideLabel value={x} options={AXES} onValue={(value) => change("x", value)} />
        }
      >
        {(id, cell) => {
          const metric = byId.get(id);
          return (
            metric && (
              <MetricChart
                metric={metric}
                trialIds={ids}
                liveIds={liveIds}
                x={x}
                range={range}
                height={cell.height}
                width={cell.width}
                menu={cell.menu}
              />
            )
          );
        }}
      </ChartGrid>
    </ChartSyncProvider>
  );
}
