import { Outlet, useNavigate, useOutletContext, useParams } from "react-router";

import { useRights } from "@/data/permissions/permissions";
import { useWorkspace } from "@/data/workspace/queries";
import type { Workspace } from "@/data/workspaces";
import { IconButton } from "@/ui/button/Button";
import { Page, type Tab } from "@/ui/layout/Page";
import { MissingPage, PageQuery } from "@/ui/layout/PageQuery";
import { Menu } from "@/ui/overlay/Menu";
import { StateBadge } from "@/ui/state/StateBadge";

import { useWorkspaceMenu } from "./useWorkspaceMenu";

export interface WorkspaceContext {
  workspace: Workspace;
  id: number;
}

export function useWorkspaceContext(): WorkspaceContext {
  return useOutletContext<WorkspaceContext>();
}

/** `/workspaces/:id/:tab`. */
export default function WorkspacePage() {
  const id = Number(useParams()["workspaceId"]);
  const query = useWorkspace(id);
  if (!Number.isInteger(id)) return <MissingPage what="workspace" />;
  return (
    <PageQuery query={query} what={`workspace ${id}`} name={`Workspace ${id}`}>
      {(workspace) => <Shown workspace={workspace} />}
    </PageQuery>
  );
}

function Shown({ workspace }: { workspace: Workspace }) {
  const id = workspace.id ?? 0;
  const { mayAnywhere, may } = useRights();
  const navigate = useNavigate();
  const { menuOf, element } = useWorkspaceMenu(() => void navigate("/workspaces"));
  const tab = (label: string, path: string): Tab => ({ label, to: `/workspaces/${id}/${path}` });
  const tabs = [
    tab("Projects", "projects"),
    tab("Tasks", "tasks"),
    mayAnywhere("PERMISSION_TYPE_ASSIGN_ROLES") && tab("Members", "members"),
    tab("Models", "models"),
    tab("Resource pools", "pools"),
    tab("Templates", "templates"),
    may("PERMISSION_TYPE_VIEW_WORKSPACE_CONFIG_POLICIES", id) && tab("Config policies", "policies"),
  ].filter((each): each is Tab => Boolean(each));
  const context: WorkspaceContext = { workspace, id };
  return (
    <Page
      name={workspace.name || `Workspace ${id}`}
      crumbs={[{ label: "Workspaces", to: "/workspaces" }, { label: workspace.name ?? "" }]}
      badge={workspace.archived && <StateBadge state="ended" label="Archived" />}
      actions={
        <Menu trigger={<IconButton icon="more" look="normal" label="Actions of the workspace" />} items={menuOf(workspace)} />
      }
      tabs={tabs}
    >
      <Outlet context={context} />
      {element}
    </Page>
  );
}
