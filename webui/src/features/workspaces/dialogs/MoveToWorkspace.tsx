import type { QueryKey } from "@tanstack/react-query";
import { useState } from "react";

import { useRights, type Permission } from "@/data/permissions/permissions";
import { useWorkspaces } from "@/data/workspaces";
import { Select } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { FormDialog } from "@/ui/overlay/FormDialog";

/** Moves a project or a model to a workspace where the user may create one. */
export function MoveToWorkspace({
  title,
  from,
  needs,
  keys,
  move,
  onClose,
}: {
  title: string;
  from: number | undefined;
  needs: Permission;
  keys: QueryKey[];
  move(workspaceId: number): Promise<unknown>;
  onClose(): void;
}) {
  const { may } = useRights();
  const [target, setTarget] = useState("");
  const workspaces = (useWorkspaces().data ?? []).filter(
    (each) => !each.archived && each.id !== from && may(needs, each.id),
  );
  const name = workspaces.find((each) => String(each.id) === target)?.name;
  return (
    <FormDialog
      title={title}
      action="Move"
      keys={keys}
      refusal={target ? undefined : "Choose a workspace."}
      onClose={onClose}
      onSubmit={async () => {
        await move(Number(target));
        toast.done(`Moved to ${name}`);
      }}
    >
      <Select
        label="Workspace"
        value={target}
        onValue={setTarget}
        hint={workspaces.length === 0 ? "There is no other workspace to which you may move it." : undefined}
        options={[
          { value: "", label: "Choose a workspace …" },
          ...workspaces.map((each) => ({ value: String(each.id), label: each.name ?? "" })),
        ]}
      />
    </FormDialog>
  );
}
