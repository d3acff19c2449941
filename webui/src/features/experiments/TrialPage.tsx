import { Outlet, useLocation, useParams } from "react-router";

import { useExperiment, useTrial, type Experiment, type Trial } from "@/data/experiments/queries";
import { idOf } from "@/data/format/ids";
import { plural } from "@/data/format/numbers";
import { isFinished } from "@/data/states";
import { Page } from "@/ui/layout/Page";
import { MissingPage, PageQuery } from "@/ui/layout/PageQuery";
import { StateBadge } from "@/ui/state/StateBadge";
import { Duration, Time } from "@/ui/text/Time";

import { LastLine } from "./LastLine";
import { partsOf, type ExperimentContext } from "./ExperimentPage";
import { TrialActions } from "./TrialActions";

/** `/trials/:t/:tab` and `/experiments/:e/trials/:t/:tab`: one trial of an experiment. */
export default function TrialPage() {
  const { trialId = "", experimentId } = useParams();
  const id = idOf(trialId);
  return id === undefined ? <MissingPage what={`trial '${trialId}'`} /> : <Trials id={id} nested={experimentId !== undefined} />;
}

function Trials({ id, nested }: { id: number; nested: boolean }) {
  const trial = useTrial(id);
  return (
    <PageQuery query={trial} what={`trial ${id}`} name={`Trial ${id}`}>
      {(found) => <WithExperiment trial={found} nested={nested} />}
    </PageQuery>
  );
}

function WithExperiment({ trial, nested }: { trial: Trial; nested: boolean }) {
  const query = useExperiment(trial.experimentId ?? 0);
  const id = trial.id ?? 0;
  const { isFlush, showsLastLine } = partsOf(useLocation().pathname);
  const base = nested ? `/experiments/${trial.experimentId}/trials/${id}` : `/trials/${id}`;
  return (
    <PageQuery query={query} what={`experiment ${trial.experimentId}`} name={`Trial ${id}`}>
      {({ experiment }) => {
        const context: ExperimentContext = { experiment, trial, trials: [trial], base };
        return (
          <Page
            name={`Trial ${id} of ${experiment.name || `experiment ${experiment.id}`}`}
            title={`Trial ${id}`}
            crumbs={crumbsOf(experiment)}
            badge={<Badge trial={trial} />}
            actions={<TrialActions experiment={experiment} trial={trial} />}
            flush={isFlush}
            tabs={TABS.map(([label, path]) => ({ label, to: `${base}/${path}` }))}
          >
            <Outlet context={context} />
            {showsLastLine && <LastLine trial={trial} to={`${base}/logs`} />}
          </Page>
        );
      }}
    </PageQuery>
  );
}

const TABS = [
  ["Overview", "overview"],
  ["Metrics", "metrics"],
  ["Hyperparameters", "hyperparameters"],
  ["Checkpoints", "checkpoints"],
  ["Code", "code"],
  ["Profiler", "profiler"],
  ["Logs", "logs"],
  ["Story", "story"],
] as const;

function crumbsOf(experiment: Experiment) {
  return [
    { label: experiment.workspaceName ?? "Workspace", to: `/workspaces/${experiment.workspaceId}` },
    { label: experiment.projectName ?? "Project", to: `/projects/${experiment.projectId}` },
    { label: `Experiment ${experiment.id}`, to: `/experiments/${experiment.id}` },
  ];
}

function Badge({ trial }: { trial: Trial }) {
  return (
    <>
      <StateBadge state={trial.state} />
      <span className="row muted" style={{ gap: 14, fontSize: "var(--size-13)" }}>
        <span>
          started <Time at={trial.startTime} />
        </span>
        <Duration start={trial.startTime} end={isFinished(trial.state) ? trial.endTime : undefined} />
        {(trial.restarts ?? 0) > 0 && <span>{plural(trial.restarts ?? 0, "restart")}</span>}
      </span>
    </>
  );
}
