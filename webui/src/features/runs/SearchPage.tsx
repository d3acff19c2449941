import { useQuery } from "@tanstack/react-query";
import { Navigate, useParams } from "react-router";

import { experimentQuery } from "@/data/experiments/queries";
import { idOf } from "@/data/format/ids";
import { QueryView } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";
import { MissingPage } from "@/ui/layout/PageQuery";
import { StateBadge } from "@/ui/state/StateBadge";

import { RunList } from "./RunList";

/** The trials of one experiment in the list of its project; the other tabs are those of its page. */
export default function SearchPage() {
  const { id: text, tab = "runs" } = useParams();
  const id = idOf(text);
  const query = useQuery({ ...experimentQuery(id ?? 0), enabled: id !== undefined });
  const experiment = query.data?.experiment;
  if (id === undefined) return <MissingPage what={`experiment '${text}'`} />;
  if (tab !== "runs") return <Navigate to={`/experiments/${id}/${tab}`} replace />;
  const projectId = experiment?.projectId;
  return (
    <Page
      key={id}
      name={experiment?.name ? `${experiment.name} · experiment ${id}` : `Experiment ${id}`}
      title={experiment?.name || `Experiment ${id}`}
      crumbs={
        experiment
          ? [
              { label: experiment.workspaceName ?? "", to: `/workspaces/${experiment.workspaceId}/projects` },
              { label: experiment.projectName ?? "", to: `/projects/${projectId}/searches` },
            ]
          : []
      }
      badge={experiment && <StateBadge state={experiment.state} />}
      tabs={[
        { label: "Trials", to: `/searches/${id}/runs` },
        { label: "Overview", to: `/experiments/${id}/overview` },
        { label: "Code", to: `/experiments/${id}/code` },
        { label: "Notes", to: `/experiments/${id}/notes` },
      ]}
      flush={!query.error}
    >
      {projectId !== undefined && !query.error ? (
        <RunList table="run" projectId={projectId} workspaceId={experiment?.workspaceId} experimentId={id} />
      ) : (
        <QueryView query={query} what="experiment">
          {() => null}
        </QueryView>
      )}
    </Page>
  );
}
