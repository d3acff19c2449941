import { useState } from "react";

import { shellWord } from "@/data/forms/shell";
import { useRights } from "@/data/permissions/permissions";
import { useProjects, type Project } from "@/data/workspace/queries";
import { Button } from "@/ui/button/Button";
import { Empty, QueryView } from "@/ui/feedback/Feedback";

import { ProjectForm } from "../dialogs/ProjectForm";
import { PROJECT_SORTS, filterProjects } from "../filter";
import { Listing } from "../Listing";
import { useWorkspaceContext } from "../WorkspacePage";
import { ProjectCard, ProjectList } from "../ProjectViews";
import { useProjectMenu } from "../useProjectMenu";

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
  const { may } = useRights();
  const [creates, setCreates] = useState(false);
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
      <Listing
        noun="project"
        rows={projects}
        select={filterProjects}
        sorts={PROJECT_SORTS}
        card={(each) => <ProjectCard key={each.id} project={each} items={menuOf(each)} />}
        list={(rows) => <ProjectList projects={rows} menuOf={menuOf} empty={empty} />}
        empty={empty}
        action={
          may("PERMISSION_TYPE_CREATE_PROJECT", id) && (
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
          )
        }
      />
      {creates && <ProjectForm workspaceId={id} onClose={() => setCreates(false)} />}
      {element}
    </div>
  );
}
