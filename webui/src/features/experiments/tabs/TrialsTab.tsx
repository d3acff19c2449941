import { useSearchParams } from "react-router";

import { byMetric, flatten, latestMetric, shown, smallerIsBetter } from "@/data/experiments/facts";
import type { Trial } from "@/data/experiments/queries";
import { formatBytes, plural } from "@/data/format/numbers";
import { useRights } from "@/data/permissions/permissions";
import { isFinished } from "@/data/states";
import { useTensorBoard } from "@/features/launch/useTensorBoard";
import { Button } from "@/ui/button/Button";
import { ButtonLink } from "@/ui/button/ButtonLink";
import { Empty } from "@/ui/feedback/Feedback";
import { Checkbox, Segments } from "@/ui/field/Field";
import { Card, PlainTable } from "@/ui/layout/Card";
import { Num } from "@/ui/text/Num";
import { Duration } from "@/ui/text/Time";

import { useExperimentContext } from "../context";
import { TrialCells } from "../TrialCells";

const MAX_COMPARED = 50;

/** The runs of a search: in their order, or the best first. */
export default function TrialsTab() {
  const { experiment, trials } = useExperimentContext();
  const [params, setParams] = useSearchParams();
  const { may } = useRights();
  const openTensorBoard = useTensorBoard();
  const chosen = new Set((params.get("select") ?? "").split(",").filter(Boolean).map(Number));
  const best = params.get("order") === "best";
  const metric = experiment.searcherMetric;
  const change = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    if (value) next.set(name, value);
    else next.delete(name);
    setParams(next, { replace: true });
  };
  if (trials.length === 0)
    return <Empty title="No trials yet">The search creates its first trials when it starts.</Empty>;
  const ordered = best ? byMetric(trials, metric, smallerIsBetter(experiment.config)) : trials;
  const names = varied(trials);
  return (
    <div className="stack">
      <div className="row">
        <Segments
          label="Order"
          value={best ? "best" : "id"}
          options={[
            { value: "id", label: "In their order" },
            { value: "best", label: "Best first" },
          ]}
          onValue={(value) => change("order", value === "best" ? "best" : "")}
        />
        <span className="muted">{plural(trials.length, "trial")}</span>
        {chosen.size > 1 && (
          <ButtonLink small icon="columns" to={`/compare?runs=${[...chosen].slice(0, MAX_COMPARED).join(",")}`}>
            Compare {chosen.size}
          </ButtonLink>
        )}
        {chosen.size > 0 && !experiment.unmanaged && may("PERMISSION_TYPE_CREATE_NSC", experiment.workspaceId) && (
          <Button
            small
            icon="chart"
            onClick={() => void openTensorBoard({ experimentIds: [], trialIds: [...chosen] }, experiment.workspaceId)}
          >
            TensorBoard
          </Button>
        )}
      </div>
      <Card flush>
        <PlainTable
          label="Trials"
          columns={[<span key="chosen" className="visually-hidden">Selected</span>, "Trial", "State", metric ?? "Metric", "Latest", "Batches", "Duration", "Restarts", "Checkpoints", ...names]}
        >
          {ordered.map((trial) => (
            <Row
              key={trial.id}
              trial={trial}
              metric={metric}
              names={names}
              isChosen={chosen.has(trial.id ?? 0)}
              onChoose={(on) => {
                const next = new Set(chosen);
                if (on) next.add(trial.id ?? 0);
                else next.delete(trial.id ?? 0);
                change("select", [...next].join(","));
              }}
            />
          ))}
        </PlainTable>
      </Card>
    </div>
  );
}

function Row({
  trial,
  metric,
  names,
  isChosen,
  onChoose,
}: {
  trial: Trial;
  metric: string | undefined;
  names: string[];
  isChosen: boolean;
  onChoose(on: boolean): void;
}) {
  const values = new Map(flatten(trial.hparams));
  return (
    <tr>
      <td>
        <Checkbox
          label={<span className="visually-hidden">Select trial {trial.id}</span>}
          checked={isChosen}
          onValue={onChoose}
        />
      </td>
      <TrialCells trial={trial} metric={metric} />
      <td>
        <Num value={latestMetric(trial, metric)} />
      </td>
      <td>
        <Num value={trial.totalBatchesProcessed} />
      </td>
      <td>
        <Duration start={trial.startTime} end={isFinished(trial.state) ? trial.endTime : undefined} />
      </td>
      <td className="number">{trial.restarts}</td>
      <td className="number">
        {trial.checkpointCount} ({formatBytes(trial.totalCheckpointSize)})
      </td>
      {names.map((name) => (
        <td key={name} className="mono">
          {values.has(name) ? shown(values.get(name)) : "–"}
        </td>
      ))}
    </tr>
  );
}

/** Hyperparameters that differ between the runs. */
export function varied(trials: Trial[]): string[] {
  const seen = new Map<string, Set<string>>();
  for (const trial of trials)
    for (const [name, value] of flatten(trial.hparams)) {
      const values = seen.get(name) ?? new Set<string>();
      values.add(JSON.stringify(value));
      seen.set(name, values);
    }
  return [...seen].filter(([, values]) => values.size > 1).map(([name]) => name);
}
