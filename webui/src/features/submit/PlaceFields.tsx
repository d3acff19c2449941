import { textAt } from "@/data/configs/draft";
import { useRights } from "@/data/permissions/permissions";
import { useProjects } from "@/data/workspace/queries";
import { useWorkspaces } from "@/data/workspaces";

import type { Editing } from "./editing";
import { ChoiceField } from "./fields";

/** The workspace and project that an experiment goes to, by their names. */
export function PlaceFields({ editing }: { editing: Editing }) {
  const { may } = useRights();
  const workspaces = (useWorkspaces().data ?? []).filter(
    (each) => !each.archived && may("PERMISSION_TYPE_CREATE_EXPERIMENT", each.id),
  );
  const name = textAt(editing.draft, ["workspace"]);
  const id = workspaces.find((each) => each.name === name)?.id ?? 0;
  const projects = (useProjects(id, id > 0).data ?? []).filter((each) => !each.archived);
  const project = textAt(editing.draft, ["project"]);
  return (
    <>
      <ChoiceField
        editing={editing}
        path={["workspace"]}
        label="Workspace"
        options={workspaces.map((each) => ({ value: each.name ?? "", label: each.name ?? "" }))}
        onValue={(value) =>
          editing.setAll([
            [["workspace"], value],
            [["project"], undefined],
          ])
        }
      />
      <ChoiceField
        editing={editing}
        path={["project"]}
        label="Project"
        error={name && !project ? "Choose a project of the workspace." : undefined}
        options={projects.map((each) => ({ value: each.name ?? "", label: each.name ?? "" }))}
      />
    </>
  );
}

/** The id of the workspace that the text names. */
export function useWorkspaceId(editing: Editing): number | undefined {
  const name = textAt(editing.draft, ["workspace"]);
  return (useWorkspaces().data ?? []).find((each) => (name ? each.name === name : each.id === 1))?.id;
}
