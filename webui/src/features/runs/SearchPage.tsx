import { useQuery } from "@tanstack/react-query";
import { Navigate, useParams } from "react-router";

import { experimentQuery } from "@/data/experiments/queries";
import { NotFound, QueryView } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";
import { StateBadge } from "@/ui/state/StateBadge";

import { RunList } from "./RunList";

/** The runs of one search; its other tabs are those of its experiment. */
export default function SearchPage() {
  const { id: text, tab = "runs" } = useParams();
  const id = Number(text);
  const isValid = Number.isInteger(id) && id > 0;
  const query = useQuery({ ...experimentQuery(id), enabled: isValid });
  const search = query.data?.experiment;
  if (!isValid)
    return (
      <Page name="Not found">
        <NotFound what="search" />
      </Page>
    );
  if (tab !== "runs") return <Navigate to={`/experiments/${id}/${tab}`} replace />;
  const projectId = search?.projectId;
  return (
    <Page
      key={id}
      name={search?.name ? `${search.name} · search ${id}` : `Search ${id}`}
      title={search?.name ?? `Search ${id}`}
      crumbs={
        search
          ? [
              { label: search.workspaceName ?? "", to: `/workspaces/${search.workspaceId}/projects` },
              { label: search.projectName ?? "", to: `/projects/${projectId}/searches` },
            ]
          : []
      }
      badge={search && <StateBadge state={search.state} />}
      tabs={[
        { label: "Runs", to: `/searches/${id}/runs` },
        { label: "Overview", to: `/experiments/${id}/overview` },
        { label: "Code", to: `/experiments/${id}/code` },
        { label: "Notes", to: `/experiments/${id}/notes` },
      ]}
      flush={!query.error}
    >
      {projectId !== undefined && !query.error ? (
        <RunList table="run" projectId={projectId} workspaceId={search?.workspaceId} experimentId={id} />
      ) : (
        <QueryView query={query} what="search">
          {() => null}
        </QueryView>
      )}
    </Page>
  );
}
