/** The facts of an experiment and of a trial, beside its numbers. */
import { Link } from "react-router";

import type { Attempt } from "@/data/experiments/attempts";
import { shown } from "@/data/experiments/facts";
import type { Experiment, Trial } from "@/data/experiments/queries";
import { plural } from "@/data/format/numbers";
import { isFinished } from "@/data/states";
import { StateBadge } from "@/ui/state/StateBadge";
import { Duration, Time } from "@/ui/text/Time";

type Fact = readonly [string, React.ReactNode] | false | undefined;

export function experimentFacts(experiment: Experiment, trial: Trial | undefined): Fact[] {
  const { description, labels } = experiment;
  return [
    ["State", <StateBadge key="state" state={experiment.state} plain />],
    description ? ["Description", <bdi key="description">{description}</bdi>] : undefined,
    userFact(experiment),
    ...timeFacts(experiment),
    trial && ["Trial", <Link key="trial" to={`/trials/${trial.id}`}>{`Trial ${trial.id}`}</Link>],
    ["Searcher", `${experiment.searcherType} by ${experiment.searcherMetric ?? "–"}`],
    ...placeFacts(experiment),
    (labels?.length ?? 0) > 0 && ["Tags", <bdi key="tags">{labels?.join(", ")}</bdi>],
  ];
}

/** `newest` is its latest attempt, once that is read. */
export function trialFacts(experiment: Experiment, trial: Trial, newest: Attempt | undefined): Fact[] {
  const source = trial.warmStartCheckpointUuid;
  return [
    ["State", <StateBadge key="state" state={trial.state} plain />],
    [
      "Experiment",
      <Link key="experiment" to={`/experiments/${experiment.id}/overview`}>
        Experiment {experiment.id}
        {experiment.name && <bdi> · {experiment.name}</bdi>}
      </Link>,
    ],
    userFact(experiment),
    ...timeFacts(trial),
    newest && newest.agents.length > 0 && ["Agent", <Agents key="agents" ids={newest.agents} />],
    ["Restarts", String(trial.restarts ?? 0)],
    source ? ["Started from", <code key="source">{source}</code>] : undefined,
    ...placeFacts(experiment),
  ];
}

function userFact({ displayName, username }: Experiment): Fact {
  return ["User", <bdi key="user">{displayName || username}</bdi>];
}

function timeFacts({ state, startTime, endTime }: Pick<Trial | Experiment, "state" | "startTime" | "endTime">): Fact[] {
  const end = isFinished(state) ? endTime : undefined;
  return [
    ["Started", <Time key="started" at={startTime} />],
    end !== undefined && ["Ended", <Time key="ended" at={end} />],
    ["Duration", <Duration key="duration" start={startTime} end={end} />],
  ];
}

/** Where it runs. A detached one has neither pool nor entrypoint. */
function placeFacts({ unmanaged, config, resourcePool = "" }: Experiment): Fact[] {
  if (unmanaged) return [["Runs", "Detached: outside of this cluster. Its script reports by itself."]];
  const slots = (config?.["resources"] as { slots_per_trial?: number } | undefined)?.slots_per_trial;
  const pool = `/resourcepool/${encodeURIComponent(resourcePool)}`;
  const entrypoint = config?.["entrypoint"];
  return [
    ["Resource pool", <Link key="pool" to={pool}>{resourcePool}</Link>],
    slots !== undefined && ["Slots", plural(slots, "slot")],
    entrypoint ? ["Entrypoint", <code key="entrypoint"><bdi>{shown(entrypoint)}</bdi></code>] : undefined,
  ];
}

/** Links to the pages of agents. */
export function Agents({ ids }: { ids: readonly string[] }) {
  return ids.map((id, index) => (
    <span key={id}>
      {index > 0 && ", "}
      <Link to={`/agents/${encodeURIComponent(id)}`}>{id}</Link>
    </span>
  ));
}
