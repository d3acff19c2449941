import { useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";

import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { useRights } from "@/data/permissions/permissions";
import { useSession } from "@/data/session";
import { useUserName, useWorkspaces, type Workspace } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Checkbox, Segments, Select } from "@/ui/field/Field";
import { SearchField } from "@/ui/field/SearchField";
import { Page } from "@/ui/layout/Page";
import { Toolbar } from "@/ui/layout/Toolbar";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";

import { filterWorkspaces, SORTS, type Owner, type Sort } from "./filter";
import { useWorkspaceMenu } from "./useWorkspaceMenu";
import { WorkspaceCard } from "./WorkspaceCard";
import { WorkspaceForm } from "./dialogs/WorkspaceForm";
import styles from "./Workspaces.module.css";

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
  const { user } = useSession();
  const [view, setView] = useParam<"cards" | "list">("view", "cards");
  const [owner, setOwner] = useParam<Owner>("owner", "all");
  const [sort, setSort] = useParam<Sort>("sort", "name");
  const [archived, setArchived] = useParam("archived", "");
  const [text, setText] = useParam("q", "");
  const shown = filterWorkspaces(workspaces, {
    owner,
    me: user?.id,
    archived: archived === "1",
    text,
    sort,
  });
  const { menuOf, element } = useWorkspaceMenu();
  return (
    <div className="stack">
      <Toolbar
        end={
          <>
            {plural(shown.length, "workspace")}
            <Segments
              label="View"
              value={view}
              onValue={setView}
              options={[
                { value: "cards", label: "Cards" },
                { value: "list", label: "List" },
              ]}
            />
          </>
        }
      >
        <SearchField label="Filter by name" value={text} onValue={setText} />
        <Segments
          label="Owner"
          value={owner}
          onValue={setOwner}
          options={[
            { value: "all", label: "All" },
            { value: "mine", label: "Mine" },
            { value: "others", label: "Others’" },
          ]}
        />
        <Checkbox label="Archived" checked={archived === "1"} onValue={(on) => setArchived(on ? "1" : "")} />
        {view === "cards" && <Select label="Sort" hideLabel value={sort} onValue={(value) => setSort(value as Sort)} options={SORTS} />}
      </Toolbar>
      {view === "list" ? (
        <List workspaces={shown} menuOf={menuOf} />
      ) : shown.length === 0 ? (
        <NothingMatches />
      ) : (
        <ul className={styles.grid}>
          {shown.map((each) => (
            <WorkspaceCard key={each.id} workspace={each} items={menuOf(each)} />
          ))}
        </ul>
      )}
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
