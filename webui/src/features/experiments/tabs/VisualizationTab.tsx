import { useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";

import { useNow } from "@/data/now";
import { isFinished } from "@/data/states";
import { flatten, shown } from "@/data/experiments/facts";
import { useImportance } from "@/data/experiments/importance";
import { bestValue } from "@/data/experiments/metricNames";
import type { Trial } from "@/data/experiments/queries";
import { hasRungs, useRungs } from "@/data/experiments/rungs";
import type { MetricId } from "@/data/series/types";
import { plural } from "@/data/format/numbers";
import { useChartAddress } from "@/features/metrics/useChartAddress";
import type { HpRun } from "@/ui/chart/hp/axis";
import { variedNames } from "@/ui/chart/hp/axis";
import { ContourChart, HeatMapChart, SliceCharts } from "@/ui/chart/hp/PairCharts";
import { ParallelChart } from "@/ui/chart/hp/ParallelChart";
import type { Span } from "@/ui/chart/hp/layout";
import { HistoryChart, ImportanceChart, RungChart, TimelineChart } from "@/ui/chart/hp/SearchCharts";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Select } from "@/ui/field/Field";
import { Card, Cards, PlainTable } from "@/ui/layout/Card";
import { Num } from "@/ui/text/Num";

import { useExperimentContext } from "../context";
import { labelOf, useSearchMetric } from "./searchMetric";

/** Results of a search by hyperparameter, for any metric that its trials have reported. */
export default function VisualizationTab() {
  const { experiment, trials } = useExperimentContext();
  const navigate = useNavigate();
  const { metric: id, smallerIsBetter, picker } = useSearchMetric(experiment, trials);
  const metric = labelOf(id);
  const runs = useMemo(() => hpRuns(trials, id, smallerIsBetter), [trials, id, smallerIsBetter]);
  const names = useMemo(() => variedNames(runs), [runs]);
  const open = (trial: string) => void navigate(`/experiments/${experiment.id}/trials/${trial}/overview`);
  const shared = { runs, metric, smallerIsBetter, onOpen: open };
  return (
    <div className="stack" style={{ gap: 16 }}>
      {hasRungs(experiment.searcherType) && <Rungs experimentId={experiment.id ?? 0} />}
      {picker}
      {runs.some((run) => run.metric !== undefined) ? (
        <>
          <HistoryChart {...shared} />
          <ImportanceView experimentId={experiment.id ?? 0} id={id} smallerIsBetter={smallerIsBetter} />
          <ParallelView {...shared} experimentId={experiment.id ?? 0} names={names} />
          <SliceCharts runs={runs} metric={metric} onOpen={open} />
          {names.length > 1 && <PairView {...shared} names={names} />}
          <TimelineView trials={trials} onOpen={open} />
        </>
      ) : (
        <Empty title="Nothing to draw yet">
          The charts appear when trials of the search have reported {metric || "the searcher's metric"}.
        </Empty>
      )}
    </div>
  );
}

/** Rungs count what the search has decided by its own metric, whichever metric the charts show. */
function Rungs({ experimentId }: { experimentId: number }) {
  const query = useRungs(experimentId);
  return (
    <QueryView query={query} what="the rungs">
      {({ brackets, metric, timeMetric }) => {
        const charts = brackets.map(({ rungs, trials }, i) => {
          const title = brackets.length > 1 ? `Rungs of bracket ${i}, ${plural(trials, "trial")}` : "Rungs";
          return <RungChart key={i} title={title} rungs={rungs} unit={timeMetric} metric={metric} />;
        });
        return charts.length > 1 ? <Cards least={420}>{charts}</Cards> : charts;
      }}
    </QueryView>
  );
}

interface HpCharts {
  runs: HpRun[];
  metric: string;
  smallerIsBetter: boolean;
  onOpen(id: string): void;
}

function ImportanceView({ experimentId, id, smallerIsBetter }: { experimentId: number; id: MetricId; smallerIsBetter: boolean }) {
  const query = useImportance(experimentId, id, smallerIsBetter);
  return (
    <QueryView query={query} what="the importance">
      {({ parameters, n }) => (
        <ImportanceChart
          metric={labelOf(id)}
          count={n}
          items={parameters.map((each) => ({ ...each, correlation: each.correlation ?? undefined }))}
        />
      )}
    </QueryView>
  );
}

/** A brush of the chart narrows the table below it. */
function ParallelView({ experimentId, names, ...shared }: HpCharts & { experimentId: number; names: readonly string[] }) {
  const { runs, metric, smallerIsBetter: small } = shared;
  const [inside, setInside] = useState<ReadonlySet<string>>();
  const [marked, setMarked] = useState<string>();
  const sorted = useMemo(() => byValue(runs, small), [runs, small]);
  const shownRuns = inside ? sorted.filter((run) => inside.has(run.id)) : sorted;
  return (
    <div className="stack">
      <ParallelChart {...shared} highlight={marked} onHighlight={setMarked} onSelection={setInside} />
      <Card flush>
        <PlainTable label="Trials of the parallel coordinates" columns={["Trial", metric, ...names]}>
        {shownRuns.slice(0, MAX_ROWS).map((run) => (
          <tr key={run.id} onMouseEnter={() => setMarked(run.id)} onMouseLeave={() => setMarked(undefined)}>
            <td>
              <Link to={`/experiments/${experimentId}/trials/${run.id}/overview`}>{run.id}</Link>
            </td>
            <td>
              <Num value={run.metric} />
            </td>
            {names.map((name) => (
              <td key={name} className="mono">
                {shown(run.hparams[name])}
              </td>
            ))}
          </tr>
        ))}
        </PlainTable>
      </Card>
      {shownRuns.length > MAX_ROWS && (
        <p className="hint">
          The best {MAX_ROWS} of {shownRuns.length} trials.
        </p>
      )}
    </div>
  );
}

const MAX_ROWS = 100;

/** The best first; runs without a value last. */
export function byValue(runs: readonly HpRun[], smallerIsBetter: boolean): HpRun[] {
  const rank = ({ metric }: HpRun) =>
    metric === undefined || Number.isNaN(metric) ? Infinity : smallerIsBetter ? metric : -metric;
  return [...runs].sort((a, b) => rank(a) - rank(b) || Number(a.id) - Number(b.id));
}

function PairView({
  names,
  ...rest
}: HpCharts & { names: readonly string[] }) {
  const { params, change } = useChartAddress("batches");
  const [first, second] = ["across", "up"].map((each) => names.find((name) => name === params.get(each)));
  const x = first ?? names.find((name) => name !== second) ?? "";
  const y = second ?? names.find((name) => name !== x) ?? "";
  return (
    <div className="stack">
      <div className="row">
        <Select label="Horizontal axis of the pair" value={x} options={names} onValue={(name) => change("across", name)} />
        <Select label="Vertical axis of the pair" value={y} options={names} onValue={(name) => change("up", name)} />
      </div>
      <HeatMapChart x={x} y={y} {...rest} />
      <ContourChart x={x} y={y} {...rest} />
    </div>
  );
}

function TimelineView({ trials, onOpen }: { trials: readonly Trial[]; onOpen(id: string): void }) {
  const now = useNow(60_000);
  const spans = useMemo(() => spansOf(trials), [trials]);
  return <TimelineChart spans={spans} now={now} onOpen={onOpen} />;
}

/** When each trial ran; one that has not ended runs until now. */
export function spansOf(trials: readonly Trial[]): Span[] {
  return trials.flatMap(({ id, state, startTime, endTime }) => {
    if (!startTime) return [];
    const end = isFinished(state) && endTime ? Date.parse(endTime) : undefined;
    return [{ id: String(id), label: `trial ${id}`, state: state ?? "", start: Date.parse(startTime), end }];
  });
}

/** Trials as the charts take them: dotted names, the best value of a metric. */
export function hpRuns(trials: readonly Trial[], metric: MetricId, smallerIsBetter: boolean): HpRun[] {
  return trials.map((trial) => ({
    id: String(trial.id),
    label: `trial ${trial.id}`,
    hparams: Object.fromEntries(flatten(trial.hparams)),
    metric: bestValue(trial, metric, smallerIsBetter),
  }));
}
