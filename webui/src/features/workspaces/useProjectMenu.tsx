import { useState } from "react";

import { plural } from "@/data/format/numbers";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { archiveProject, deleteProject, moveProject, type Project } from "@/data/workspace/queries";
import { useAct } from "@/ui/feedback/useAct";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { confirm } from "@/ui/overlay/confirm";

import { MoveToWorkspace } from "./dialogs/MoveToWorkspace";
import { ProjectForm } from "./dialogs/ProjectForm";

/** The acts on a project; `element` is the dialog that an act opened. */
export function useProjectMenu() {
  const { may } = useRights();
  const act = useAct();
  const [edited, setEdited] = useState<Project>();
  const [moved, setMoved] = useState<Project>();
  const archive = (project: Project) => {
    const id = project.id ?? 0;
    const on = !project.archived;
    void act(() => archiveProject(id, on), {
      done: `${on ? "Archived" : "Unarchived"} ${project.name}`,
      failed: `Project ${project.name}`,
      undo: () => archiveProject(id, !on),
      keys: [keys.workspaces()],
    });
  };
  const remove = async (project: Project) => {
    const yes = await confirm({
      title: `Delete project ${project.name}?`,
      body: "Its notes are deleted with it. This cannot be undone.",
      action: "Delete",
      danger: true,
    });
    if (yes)
      await act(() => deleteProject(project.id ?? 0), {
        done: `Deleted project ${project.name}`,
        failed: `Project ${project.name}`,
        keys: [keys.workspaces()],
      });
  };
  const menuOf = (project: Project): MenuEntry[] => {
    const edits = may("PERMISSION_TYPE_UPDATE_PROJECT", project.workspaceId);
    const deletes = may("PERMISSION_TYPE_DELETE_PROJECT", project.workspaceId);
    const fixed = project.immutable ? "The first project stays as it is." : undefined;
    const archived = project.archived ? "Unarchive it first." : undefined;
    return [
      { label: "Open", icon: "runs", to: `/projects/${project.id}` },
      edits && { label: "Edit …", icon: "edit", disabledReason: fixed ?? archived, onSelect: () => setEdited(project) },
      edits && { label: "Move …", icon: "move", disabledReason: fixed ?? archived, onSelect: () => setMoved(project) },
      edits && { label: project.archived ? "Unarchive" : "Archive", icon: "archive", disabledReason: fixed, onSelect: () => archive(project) },
      deletes && "separator",
      deletes && {
        label: "Delete …",
        icon: "trash",
        danger: true,
        disabledReason:
          fixed ??
          ((project.numExperiments ?? 0) > 0
            ? `It has ${plural(project.numExperiments ?? 0, "experiment")}: delete or move them first.`
            : undefined),
        onSelect: () => void remove(project),
      },
    ];
  };
  const element = (
    <>
      {edited && <ProjectForm project={edited} workspaceId={edited.workspaceId ?? 0} onClose={() => setEdited(undefined)} />}
      {moved && (
        <MoveToWorkspace
          title={`Move project ${moved.name}`}
          from={moved.workspaceId}
          needs="PERMISSION_TYPE_CREATE_PROJECT"
          keys={[keys.workspaces()]}
          move={(id) => moveProject(moved.id ?? 0, id)}
          onClose={() => setMoved(undefined)}
        />
      )}
    </>
  );
  return { menuOf, element };
}
