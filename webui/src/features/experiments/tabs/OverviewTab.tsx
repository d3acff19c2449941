import { Link } from "react-router";

import { bestMetric, byMetric, flatten, latestMetric, shown, smallerIsBetter } from "@/data/experiments/facts";
import type { Experiment, Trial } from "@/data/experiments/queries";
import { formatBytes, plural } from "@/data/format/numbers";
import { isFinished } from "@/data/states";
import { Card, Cards, Facts, PlainTable, Stat } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";
import { Num } from "@/ui/text/Num";
import { Duration, Time } from "@/ui/text/Time";

import { useExperimentContext } from "../context";
import { ReasonCard } from "../ReasonCard";

/** What matters at a glance: the result, the reason of a wait or failure, the configuration. */
export default function OverviewTab() {
  const { experiment, trials, trial } = useExperimentContext();
  return (
    <div className="stack" style={{ gap: 16 }}>
      <ReasonCard experiment={experiment} trials={trials} />
      <Results experiment={experiment} trials={trials} />
      <Cards least={360}>
        <Card title="Facts">
          <ExperimentFacts experiment={experiment} trial={trial} />
        </Card>
        {trial ? (
          <Card title="Hyperparameters">
            <HyperparameterFacts values={trial.hparams} />
          </Card>
        ) : (
          <Card title="Search space">
            <HyperparameterFacts values={spaceOf(experiment)} />
          </Card>
        )}
        {!trial && trials.length > 0 && (
          <BestTrials experiment={experiment} trials={trials} />
        )}
      </Cards>
    </div>
  );
}

function Results({ experiment, trials }: { experiment: Experiment; trials: Trial[] }) {
  const metric = experiment.searcherMetric;
  const best = byMetric(trials, metric, smallerIsBetter(experiment.config))[0];
  const value = best && bestMetric(best, metric);
  const batches = trials.reduce((sum, each) => sum + (each.totalBatchesProcessed ?? 0), 0);
  return (
    <Card>
      <div className="row" style={{ gap: "12px 40px", alignItems: "flex-start" }}>
        <Stat label={`Best ${metric ?? "metric"}`}>
          <Num value={value} />
        </Stat>
        {trials.length > 1 && best && (
          <Stat label="Best trial">
            <Link to={`/experiments/${experiment.id}/trials/${best.id}/overview`}>{best.id}</Link>
          </Stat>
        )}
        {trials.length === 1 && (
          <Stat label={`Latest ${metric ?? "metric"}`}>
            <Num value={latestMetric(trials[0] ?? {}, metric)} />
          </Stat>
        )}
        <Stat label="Batches">
          <Num value={batches} />
        </Stat>
        <Stat label="Trials">
          <Num value={experiment.numTrials} />
        </Stat>
        <Stat label="Checkpoints">
          <Num value={experiment.checkpointCount} />
        </Stat>
        <Stat label="Size">{formatBytes(experiment.checkpointSize)}</Stat>
      </div>
    </Card>
  );
}

function ExperimentFacts({ experiment, trial }: { experiment: Experiment; trial: Trial | undefined }) {
  const finished = isFinished(experiment.state);
  const config = experiment.config ?? {};
  const resources = (config["resources"] ?? {}) as { slots_per_trial?: number; priority?: number };
  return (
    <Facts
      facts={[
        ["State", <StateBadge key="state" state={experiment.state} plain />],
        experiment.description ? ["Description", experiment.description] : undefined,
        ["User", experiment.displayName || experiment.username],
        ["Started", <Time key="started" at={experiment.startTime} />],
        finished && ["Ended", <Time key="ended" at={experiment.endTime} />],
        [
          "Duration",
          <Duration
            key="duration"
            start={experiment.startTime}
            end={finished ? experiment.endTime : undefined}
          />,
        ],
        ["Resource pool", <Link key="pool" to={`/resourcepool/${encodeURIComponent(experiment.resourcePool ?? "")}`}>{experiment.resourcePool}</Link>],
        ["Slots", resources.slots_per_trial === undefined ? undefined : plural(resources.slots_per_trial, "slot")],
        trial && ["Trial", <Link key="trial" to={`/trials/${trial.id}`}>{trial.id}</Link>],
        trial && ["Restarts", String(trial.restarts ?? 0)],
        ["Searcher", `${experiment.searcherType} by ${experiment.searcherMetric ?? "–"}`],
        ["Entrypoint", <code key="entrypoint">{shown(config["entrypoint"])}</code>],
        (experiment.labels?.length ?? 0) > 0 && ["Tags", experiment.labels?.join(", ")],
      ]}
    />
  );
}

function HyperparameterFacts({ values }: { values: unknown }) {
  const rows = flatten(values);
  if (rows.length === 0) return <p className="muted">No hyperparameters.</p>;
  return (
    <Facts facts={rows.map(([name, value]) => [name, <code key={name}>{shown(value)}</code>] as const)} />
  );
}

/** A row a hyperparameter, as one text: `log 0.0001 to 0.1`. */
function spaceOf(experiment: Experiment): Record<string, string> {
  const space = experiment.hyperparameters ?? {};
  return Object.fromEntries(Object.entries(space).map(([name, spec]) => [name, rangeOf(spec)]));
}

function rangeOf(spec: unknown): string {
  const s = (spec ?? {}) as {
    type?: string;
    val?: unknown;
    vals?: unknown[];
    minval?: number;
    maxval?: number;
    base?: number;
  };
  if (s.type === "const") return shown(s.val);
  if (s.type === "categorical") return (s.vals ?? []).map(shown).join(" | ");
  if (s.type === "log") return `${s.base}^${s.minval} to ${s.base}^${s.maxval} (log)`;
  if (s.type) return `${s.minval} to ${s.maxval} (${s.type})`;
  return shown(spec);
}

function BestTrials({ experiment, trials }: { experiment: Experiment; trials: Trial[] }) {
  const metric = experiment.searcherMetric;
  const best = byMetric(trials, metric, smallerIsBetter(experiment.config)).slice(0, 8);
  return (
    <Card title="Best trials" flush>
      <PlainTable label="Best trials" columns={["Trial", "State", metric ?? "Metric", "Batches"]}>
        {best.map((trial) => (
          <tr key={trial.id}>
            <td>
              <Link to={`/experiments/${experiment.id}/trials/${trial.id}/overview`}>{trial.id}</Link>
            </td>
            <td>
              <StateBadge state={trial.state} plain />
            </td>
            <td>
              <Num value={bestMetric(trial, metric)} />
            </td>
            <td>
              <Num value={trial.totalBatchesProcessed} />
            </td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}
