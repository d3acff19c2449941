import { useState } from "react";

import { shellWord } from "@/data/forms/shell";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { useRights } from "@/data/permissions/permissions";
import { useSession } from "@/data/session";
import { useProjects, type Project } from "@/data/workspace/queries";
import { Button } from "@/ui/button/Button";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Checkbox, Segments, Select } from "@/ui/field/Field";
import { SearchField } from "@/ui/field/SearchField";
import { Toolbar } from "@/ui/layout/Toolbar";

import { ProjectForm } from "../dialogs/ProjectForm";
import type { Owner } from "../filter";
import { PROJECT_SORTS, filterProjects, type ProjectSort } from "../projectFilter";
import { useWorkspaceContext } from "../WorkspacePage";
import { ProjectCard, ProjectList } from "../ProjectViews";
import { useProjectMenu } from "../useProjectMenu";
import styles from "../Workspaces.module.css";

export default function ProjectsTab() {
  const { id } = useWorkspaceContext();
  const query = useProjects(id);
  return (
    <QueryView query={query} what="the projects">
      {(projects) => <Listed projects={projects} />}
    </QueryView>
  );
}

function Listed({ projects }: { projects: Project[] }) {
  const { id, workspace } = useWorkspaceContext();
  const { user } = useSession();
  const { may } = useRights();
  const [view, setView] = useParam<"cards" | "list">("view", "cards");
  const [owner, setOwner] = useParam<Owner>("owner", "all");
  const [sort, setSort] = useParam<ProjectSort>("sort", "name");
  const [archived, setArchived] = useParam("archived", "");
  const [text, setText] = useParam("q", "");
  const [creates, setCreates] = useState(false);
  const shown = filterProjects(projects, { owner, me: user?.id, archived: archived === "1", text, sort });
  const { menuOf, element } = useProjectMenu();
  const empty =
    projects.length === 0 ? (
      <Empty title="No projects yet" command={`det project create ${shellWord(workspace.name ?? "")} NAME`}>
        A project holds trials and experiments about one question.
      </Empty>
    ) : (
      <Empty title="No project matches">Change the owner, the text, or show archived projects too.</Empty>
    );
  return (
    <div className="stack">
      <Toolbar
        end={
          <>
            {plural(shown.length, "project")}
            <Segments
              label="View"
              value={view}
              onValue={setView}
              options={[
                { value: "cards", label: "Cards" },
                { value: "list", label: "List" },
              ]}
            />
            {may("PERMISSION_TYPE_CREATE_PROJECT", id) && (
              <Button
                look="primary"
                icon="plus"
                disabledReason={
                  workspace.archived
                    ? "The workspace is archived."
                    : workspace.immutable
                      ? "The first workspace has one project alone."
                      : undefined
                }
                onClick={() => setCreates(true)}
              >
                New project
              </Button>
            )}
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
        {view === "cards" && (
          <Select label="Sort" hideLabel value={sort} onValue={(value) => setSort(value as ProjectSort)} options={PROJECT_SORTS} />
        )}
      </Toolbar>
      {view === "list" ? (
        <ProjectList projects={shown} menuOf={menuOf} empty={empty} />
      ) : shown.length === 0 ? (
        empty
      ) : (
        <ul className={styles.grid}>
          {shown.map((each) => (
            <ProjectCard key={each.id} project={each} items={menuOf(each)} />
          ))}
        </ul>
      )}
      {creates && <ProjectForm workspaceId={id} onClose={() => setCreates(false)} />}
      {element}
    </div>
  );
}
