import { Outlet, useLocation, useParams } from "react-router";

import { isSearch } from "@/data/experiments/facts";
import { useExperiment, useTrials, type Experiment, type Trial } from "@/data/experiments/queries";
import { idOf } from "@/data/format/ids";
import { isFinished } from "@/data/states";
import { Page, type Tab } from "@/ui/layout/Page";
import { MissingPage, PageQuery } from "@/ui/layout/PageQuery";
import { StateBadge } from "@/ui/state/StateBadge";

import { ExperimentActions } from "./ExperimentActions";
import { HeaderFacts } from "./HeaderFacts";
import { LastLine } from "./LastLine";

export interface ExperimentContext {
  experiment: Experiment;
  /** The trial of a run; `undefined` for a search and before the first trial exists. */
  trial: Trial | undefined;
  trials: Trial[];
  /** The address of the page, without the tab. */
  base: string;
}

/** `/experiments/:id/:tab`: an experiment of one trial, or a search over many. */
export default function ExperimentPage() {
  const { experimentId = "" } = useParams();
  const id = idOf(experimentId);
  return id === undefined ? <MissingPage what={`experiment '${experimentId}'`} /> : <Experiments id={id} />;
}

function Experiments({ id }: { id: number }) {
  const query = useExperiment(id);
  const done = isFinished(query.data?.experiment.state);
  const trials = useTrials(id, done).data ?? [];
  const { isFlush, showsLastLine } = partsOf(useLocation().pathname);
  return (
    <PageQuery query={query} what={`experiment ${id}`} name={`Experiment ${id}`}>
      {({ experiment }) => {
        const isOne = !isSearch(experiment);
        const context: ExperimentContext = {
          experiment,
          trials,
          trial: isOne ? trials[0] : undefined,
          base: `/experiments/${id}`,
        };
        return (
          <Page
            name={`${experiment.name} (experiment ${id})`}
            title={experiment.name || `Experiment ${id}`}
            crumbs={crumbsOf(experiment)}
            badge={
              <>
                <StateBadge state={experiment.state} />
                {experiment.archived && <StateBadge state="ended" label="Archived" />}
                <HeaderFacts experiment={experiment} trials={trials} />
              </>
            }
            actions={<ExperimentActions experiment={experiment} trials={trials} trial={context.trial} />}
            flush={isFlush}
            tabs={tabsOf(experiment, isOne)}
          >
            <Outlet context={context} />
            {context.trial && showsLastLine && <LastLine trial={context.trial} to={`/experiments/${id}/logs`} />}
          </Page>
        );
      }}
    </PageQuery>
  );
}

/** Logs fill the page, without its padding. The overview has the last lines of the log already. */
export function partsOf(pathname: string): { isFlush: boolean; showsLastLine: boolean } {
  const isFlush = pathname.endsWith("/logs");
  return { isFlush, showsLastLine: !isFlush && !pathname.endsWith("/overview") };
}

function crumbsOf(experiment: Experiment) {
  return [
    { label: experiment.workspaceName ?? "Workspace", to: `/workspaces/${experiment.workspaceId}` },
    { label: experiment.projectName ?? "Project", to: `/projects/${experiment.projectId}` },
    { label: `Experiment ${experiment.id}` },
  ];
}

function tabsOf(experiment: Experiment, isOne: boolean): Tab[] {
  const base = `/experiments/${experiment.id}`;
  const tab = (label: string, path: string) => ({ label, to: `${base}/${path}` });
  const waits = !isFinished(experiment.state) && [tab("Why", "why")];
  return isOne
    ? [
        tab("Overview", "overview"),
        tab("Metrics", "metrics"),
        tab("Hyperparameters", "hyperparameters"),
        tab("Checkpoints", "checkpoints"),
        tab("Code", "code"),
        tab("Profiler", "profiler"),
        tab("Logs", "logs"),
        tab("Story", "story"),
        ...(waits || []),
        tab("Notes", "notes"),
      ]
    : [
        tab("Overview", "overview"),
        tab("Metrics", "metrics"),
        tab("Visualization", "visualization"),
        tab("Trials", "trials"),
        tab("Checkpoints", "checkpoints"),
        tab("Code", "code"),
        tab("Profiler", "profiler"),
        tab("Story", "story"),
        ...(waits || []),
        tab("Notes", "notes"),
      ];
}
