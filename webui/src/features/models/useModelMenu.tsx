import { useState } from "react";

import { plural } from "@/data/format/numbers";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { archiveModel, deleteModel, moveModel, type Model } from "@/data/registry/models";
import { useSession } from "@/data/session";
import { MoveToWorkspace } from "@/features/workspaces/dialogs/MoveToWorkspace";
import { useAct } from "@/ui/feedback/useAct";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { confirm } from "@/ui/overlay/confirm";

import { ModelForm } from "./ModelForm";

/** The acts on a model; `element` is the dialog that an act opened. */
export function useModelMenu(onDeleted?: () => void) {
  const { may } = useRights();
  const { user } = useSession();
  const act = useAct();
  const [edited, setEdited] = useState<Model>();
  const [moved, setMoved] = useState<Model>();
  const archive = (model: Model) => {
    const name = model.name ?? "";
    const on = !model.archived;
    void act(() => archiveModel(name, on), {
      done: `${on ? "Archived" : "Unarchived"} ${name}`,
      failed: `Model ${name}`,
      undo: () => archiveModel(name, !on),
      keys: [keys.models()],
    });
  };
  const remove = async (model: Model) => {
    const { name = "", numVersions = 0 } = model;
    const yes = await confirm({
      title: `Delete model ${name}?`,
      body: `Its ${plural(numVersions, "version")}, notes and metadata are deleted. The checkpoints stay. This cannot be undone.`,
      action: "Delete",
      danger: true,
    });
    if (!yes) return;
    const done = await act(() => deleteModel(name), {
      done: `Deleted model ${name}`,
      failed: `Model ${name}`,
      keys: [keys.models()],
    });
    if (done) onDeleted?.();
  };
  const menuOf = (model: Model): MenuEntry[] => {
    const edits = may("PERMISSION_TYPE_EDIT_MODEL_REGISTRY", model.workspaceId);
    const deletes = may(
      model.userId === user?.id
        ? "PERMISSION_TYPE_DELETE_MODEL_REGISTRY"
        : "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_REGISTRY",
      model.workspaceId,
    );
    const archived = model.archived ? "Unarchive it first." : undefined;
    return [
      edits && { label: "Edit …", icon: "edit", disabledReason: archived, onSelect: () => setEdited(model) },
      edits && { label: "Move …", icon: "move", disabledReason: archived, onSelect: () => setMoved(model) },
      edits && { label: model.archived ? "Unarchive" : "Archive", icon: "archive", onSelect: () => archive(model) },
      deletes && "separator",
      deletes && { label: "Delete …", icon: "trash", danger: true, onSelect: () => void remove(model) },
    ];
  };
  const element = (
    <>
      {edited && <ModelForm model={edited} onClose={() => setEdited(undefined)} />}
      {moved && (
        <MoveToWorkspace
          title={`Move model ${moved.name}`}
          from={moved.workspaceId}
          needs="PERMISSION_TYPE_CREATE_MODEL_REGISTRY"
          keys={[keys.models()]}
          move={(id) => moveModel(moved.name ?? "", id)}
          onClose={() => setMoved(undefined)}
        />
      )}
    </>
  );
  return { menuOf, element };
}
