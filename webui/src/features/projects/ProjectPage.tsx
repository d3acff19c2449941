import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Navigate, useLocation, useParams } from "react-router";

import { answer, api, type Schemas } from "@/api/client";
import { whenIdle } from "@/data/idle";
import { projectQuery } from "@/data/projects";
import { POLL_MS } from "@/data/queryClient";
import { NewExperimentButton } from "@/features/launch/NewExperimentButton";
import { RunList } from "@/features/runs/RunList";
import { Loading, NotFound, QueryView } from "@/ui/feedback/Feedback";
import { later } from "@/ui/later";
import { Page, type Tab } from "@/ui/layout/Page";

const WAITING = { fallback: <Loading what="the page" /> };
const Notes = later(async () => ({ default: (await import("./Notes")).Notes }), WAITING);
const ProjectBoards = later(async () => ({ default: (await import("@/features/boards/ProjectBoards")).ProjectBoards }), WAITING);

/** The page of a project: its runs, its searches, its notes. */
export default function ProjectPage() {
  const { id: text, tab = "runs" } = useParams();
  const id = Number(text);
  const isValid = Number.isInteger(id) && id > 0;
  const project = useQuery({
    ...projectQuery(id),
    enabled: isValid,
    // The master has no live topic of projects: notes of others and the counts come by polling.
    refetchInterval: tab === "notes" ? POLL_MS : 4 * POLL_MS,
  });
  useVisit(project.data?.id);
  const shown = project.data;
  const name = shown?.name ?? `Project ${text}`;
  if (!isValid)
    return (
      <Page name="Not found">
        <NotFound what="project" />
      </Page>
    );
  const isList = tab !== "notes" && tab !== "boards";
  return (
    <Page
      key={id}
      name={name}
      crumbs={[
        { label: "Workspaces", to: "/workspaces" },
        ...(shown ? [{ label: shown.workspaceName ?? "", to: `/workspaces/${shown.workspaceId}/projects` }] : []),
      ]}
      badge={shown?.archived ? <span className="hint">archived</span> : undefined}
      actions={shown && !shown.archived && <NewExperimentButton projectId={id} workspaceId={shown.workspaceId ?? 0} />}
      tabs={tabsOf(id, shown)}
      flush={isList && !project.error}
    >
      {/* The list reads its rows while the project itself is on its way. */}
      {isList && !project.error ? (
        <ListTab tab={tab} id={id} project={shown} />
      ) : (
        <QueryView query={project} what="project" loading={<Loading what="the project" />}>
          {(found) => found && !isList && <PageTab tab={tab} project={found} />}
        </QueryView>
      )}
    </Page>
  );
}

function PageTab({ tab, project }: { tab: string; project: Schemas["Project"] }) {
  if (tab === "boards") return <ProjectBoards projectId={project.id ?? 0} workspaceId={project.workspaceId} />;
  return <Notes project={project} />;
}

function ListTab({ tab, id, project }: { tab: string; id: number; project: Schemas["Project"] | undefined }) {
  const { search } = useLocation();
  if (tab === "runs") return <RunList key={`${id}-run`} table="run" projectId={id} workspaceId={project?.workspaceId} />;
  if (tab === "searches" || tab === "experiments")
    return <RunList key={`${id}-experiment`} table="experiment" projectId={id} workspaceId={project?.workspaceId} />;
  return <Navigate to={`/projects/${id}/runs${search}`} replace />;
}

function tabsOf(id: number, project: Schemas["Project"] | undefined): Tab[] {
  const count = (number: number | undefined) => (number === undefined ? "" : ` ${number.toLocaleString("en")}`);
  const notes = project?.notes?.length;
  return [
    { label: `Trials${count(project?.numRuns)}`, to: `/projects/${id}/runs` },
    { label: `Experiments${count(project?.numExperiments)}`, to: `/projects/${id}/searches` },
    { label: "Boards", to: `/projects/${id}/boards` },
    { label: `Notes${notes ? count(notes) : ""}`, to: `/projects/${id}/notes` },
  ];
}

/** Home lists the projects that were visited last. */
function useVisit(id: number | undefined): void {
  useEffect(() => {
    if (id === undefined) return;
    const body = { activityType: "ACTIVITY_TYPE_GET", entityType: "ENTITY_TYPE_PROJECT", entityId: id } as const;
    // The list comes first.
    return whenIdle(() => void answer(api.POST("/api/v1/users/activity", { body, keepalive: true })).catch(() => undefined));
  }, [id]);
}
