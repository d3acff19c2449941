import { useState } from "react";

import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { deleteVersion, versionName, type Model, type Version } from "@/data/registry/models";
import { useSession } from "@/data/session";
import { useAct } from "@/ui/feedback/useAct";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { confirm } from "@/ui/overlay/confirm";

import { VersionForm } from "./VersionForm";

export function useVersionMenu(model: Model, onDeleted?: () => void) {
  const { may } = useRights();
  const { user } = useSession();
  const act = useAct();
  const [edited, setEdited] = useState<Version>();
  const remove = async (version: Version) => {
    const yes = await confirm({
      title: `Deregister version ${version.version} of ${model.name}?`,
      body: "Its notes and metadata are deleted. The checkpoint stays, but garbage collection may delete it from now on.",
      action: "Deregister",
      danger: true,
    });
    if (!yes) return;
    const done = await act(() => deleteVersion(model.name ?? "", version.version ?? 0), {
      done: `Deregistered ${versionName(version)}`,
      failed: versionName(version),
      keys: [keys.models()],
    });
    if (done) onDeleted?.();
  };
  const menuOf = (version: Version): MenuEntry[] => {
    const archived = model.archived ? "The model is archived." : undefined;
    const deletes = may(
      version.userId === user?.id
        ? "PERMISSION_TYPE_DELETE_MODEL_VERSION"
        : "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_VERSION",
      model.workspaceId,
    );
    return [
      may("PERMISSION_TYPE_EDIT_MODEL_REGISTRY", model.workspaceId) && {
        label: "Edit …",
        icon: "edit",
        disabledReason: archived,
        onSelect: () => setEdited(version),
      },
      deletes && { label: "Deregister …", icon: "trash", danger: true, disabledReason: archived, onSelect: () => void remove(version) },
    ];
  };
  const element = edited && <VersionForm model={model.name ?? ""} version={edited} onClose={() => setEdited(undefined)} />;
  return { menuOf, element };
}
