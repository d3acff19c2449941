import { useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";

import { useRights } from "@/data/permissions/permissions";
import { useUserName, useWorkspaces, type Workspace } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";

import { filterWorkspaces, SORTS } from "./filter";
import { Listing } from "./Listing";
import { useWorkspaceMenu } from "./useWorkspaceMenu";
import { WorkspaceCard } from "./WorkspaceCard";
import { WorkspaceForm } from "./dialogs/WorkspaceForm";

/** `/workspaces`: cards or a list; the filters are in the address. */
export default function WorkspacesPage() {
  const query = useWorkspaces();
  const { mayAnywhere } = useRights();
  const navigate = useNavigate();
  const [creates, setCreates] = useState(false);
  return (
    <Page
      name="Workspaces"
      actions={
        mayAnywhere("PERMISSION_TYPE_CREATE_WORKSPACE") && (
          <Button look="primary" icon="plus" onClick={() => setCreates(true)}>
            New workspace
          </Button>
        )
      }
    >
      <QueryView query={query} what="the workspaces">
        {(workspaces) => <Listed workspaces={workspaces} />}
      </QueryView>
      {creates && (
        <WorkspaceForm
          onClose={() => setCreates(false)}
          onCreated={(id) => void navigate(`/workspaces/${id}/projects`)}
        />
      )}
    </Page>
  );
}

function Listed({ workspaces }: { workspaces: Workspace[] }) {
  const { menuOf, element } = useWorkspaceMenu();
  return (
    <div className="stack">
      <Listing
        noun="workspace"
        rows={workspaces}
        select={filterWorkspaces}
        sorts={SORTS}
        card={(each) => <WorkspaceCard key={each.id} workspace={each} items={menuOf(each)} />}
        list={(rows) => <List workspaces={rows} menuOf={menuOf} />}
        empty={<NothingMatches />}
      />
      {element}
    </div>
  );
}

function NothingMatches() {
  return (
    <Empty title="No workspace matches" command="det workspace create NAME">
      Change the owner, the text, or show archived workspaces too.
    </Empty>
  );
}

function List({
  workspaces,
  menuOf,
}: {
  workspaces: Workspace[];
  menuOf: ReturnType<typeof useWorkspaceMenu>["menuOf"];
}) {
  const navigate = useNavigate();
  const nameOf = useUserName();
  const columns = useMemo<Column<Workspace>[]>(
    () => [
      {
        id: "name",
        header: "Name",
        width: 240,
        grow: true,
        sortable: true,
        value: (each) => each.name,
        render: (each) => <Link to={`/workspaces/${each.id}/projects`}>{each.name}</Link>,
      },
      { id: "projects", header: "Projects", type: "number", align: "end", width: 100, sortable: true, value: (each) => each.numProjects, render: (each) => each.numProjects },
      { id: "experiments", header: "Experiments", type: "number", align: "end", width: 120, sortable: true, value: (each) => each.numExperiments, render: (each) => each.numExperiments },
      { id: "owner", header: "Owner", width: 140, sortable: true, value: (each) => nameOf(each.userId), render: (each) => nameOf(each.userId) },
      { id: "pinned", header: "Pinned", width: 90, sortable: true, value: (each) => each.pinned, render: (each) => (each.pinned ? "Pinned" : "") },
      { id: "archived", header: "Archived", width: 100, sortable: true, value: (each) => each.archived, render: (each) => (each.archived ? "Archived" : "") },
    ],
    [nameOf],
  );
  return (
    <DataTable
      label="Workspaces"
      rows={workspaces}
      rowKey={(each) => each.id ?? 0}
      rowName={(each) => each.name ?? ""}
      columns={columns}
      rowMenu={menuOf}
      onOpen={(each) => void navigate(`/workspaces/${each.id}/projects`)}
      empty={<NothingMatches />}
    />
  );
}
