import { useState } from "react";

import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { plural } from "@/data/format/numbers";
import { actOnWorkspace, countUnended, deleteWorkspace } from "@/data/workspace/queries";
import type { Workspace } from "@/data/workspaces";
import { useAct } from "@/ui/feedback/useAct";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { confirm } from "@/ui/overlay/confirm";

import { WorkspaceForm } from "./dialogs/WorkspaceForm";

const DONE = { archive: "Archived", unarchive: "Unarchived", pin: "Pinned", unpin: "Unpinned" };
const INVERSE = { archive: "unarchive", unarchive: "archive", pin: "unpin", unpin: "pin" } as const;

/** The acts on a workspace; `element` is the dialog that an act opened. */
export function useWorkspaceMenu(onDeleted?: () => void) {
  const { may } = useRights();
  const act = useAct();
  const [edited, setEdited] = useState<Workspace>();
  const run = (name: keyof typeof DONE, workspace: Workspace) =>
    void act(() => actOnWorkspace(name, workspace.id ?? 0), {
      done: `${DONE[name]} ${workspace.name}`,
      failed: `Workspace ${workspace.name}`,
      undo: () => actOnWorkspace(INVERSE[name], workspace.id ?? 0),
      keys: [keys.workspaces()],
    });
  const remove = async (workspace: Workspace) => {
    const { name, numProjects = 0, numExperiments = 0 } = workspace;
    const unended = await unendedOf(workspace);
    const contents = `${plural(numProjects, "project")}, ${plural(numExperiments, "experiment")}`;
    const yes = await confirm({
      title: `Delete workspace ${name}?`,
      body: `Its ${contents} and templates are deleted with it, and its running tasks end.${unended} This cannot be undone.`,
      action: "Delete",
      danger: true,
    });
    if (!yes) return;
    const done = await act(() => deleteWorkspace(workspace.id ?? 0), {
      done: `Workspace ${name} is being deleted`,
      failed: `Workspace ${name}`,
      keys: [keys.workspaces()],
    });
    if (done) onDeleted?.();
  };
  const menuOf = (workspace: Workspace): MenuEntry[] => {
    const id = workspace.id ?? 0;
    const edits = may("PERMISSION_TYPE_UPDATE_WORKSPACE", id);
    const fixed = workspace.immutable ? "The first workspace stays as it is." : undefined;
    return [
      { label: workspace.pinned ? "Unpin" : "Pin", icon: "pin", onSelect: () => run(workspace.pinned ? "unpin" : "pin", workspace) },
      edits && {
        label: "Edit …",
        icon: "edit",
        disabledReason: workspace.archived ? "Unarchive it first." : undefined,
        onSelect: () => setEdited(workspace),
      },
      edits && {
        label: workspace.archived ? "Unarchive" : "Archive",
        icon: "archive",
        disabledReason: fixed,
        onSelect: () => run(workspace.archived ? "unarchive" : "archive", workspace),
      },
      may("PERMISSION_TYPE_DELETE_WORKSPACE", id) && "separator",
      may("PERMISSION_TYPE_DELETE_WORKSPACE", id) && {
        label: "Delete …",
        icon: "trash",
        danger: true,
        disabledReason: fixed,
        onSelect: () => void remove(workspace),
      },
    ];
  };
  const element = edited && <WorkspaceForm workspace={edited} onClose={() => setEdited(undefined)} />;
  return { menuOf, element };
}

/** A sentence about the experiments that the deletion kills; empty for none. */
async function unendedOf({ id = 0, numExperiments = 0 }: Workspace): Promise<string> {
  if (!numExperiments) return "";
  const count = await countUnended(id).catch(() => undefined);
  if (count === undefined) return " Experiments that have not ended are killed.";
  return count ? ` ${plural(count, "experiment")} that did not end yet will be killed.` : "";
}
