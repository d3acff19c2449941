import { useState } from "react";

import { changeRole, groupKeys, useGroups, type Role } from "@/data/people/groups";
import { useUsers } from "@/data/workspaces";
import { Select } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

/** Gives a user or a group a role in the workspace. */
export function AddMember({
  workspaceId,
  roles,
  onClose,
}: {
  workspaceId: number;
  roles: Role[];
  onClose(): void;
}) {
  const users = (useUsers().data ?? []).filter((each) => each.active);
  const groups = useGroups().data ?? [];
  const [who, setWho] = useState("");
  const [role, setRole] = useState("");
  const submit = async () => {
    const [kind, id] = who.split(":");
    const principal = { kind: kind === "group" ? ("group" as const) : ("user" as const), id: Number(id) };
    await changeRole("add", principal, Number(role), workspaceId);
  };
  return (
    <FormDialog
      title="Add a member"
      action="Add"
      keys={[groupKeys.members(workspaceId)]}
      refusal={who ? (role ? undefined : "Choose a role.") : "Choose a user or a group."}
      onSubmit={submit}
      onClose={onClose}
    >
      <Select
        label="User or group"
        value={who}
        onValue={setWho}
        options={[
          { value: "", label: "Choose …" },
          ...groups.map(({ group }) => ({ value: `group:${group?.groupId}`, label: `${group?.name} (group)` })),
          ...users.map((each) => ({ value: `user:${each.id}`, label: each.displayName ? `${each.displayName} (${each.username})` : (each.username ?? "") })),
        ]}
      />
      <Select
        label="Role"
        value={role}
        onValue={setRole}
        options={[{ value: "", label: "Choose …" }, ...roles.map((each) => ({ value: String(each.roleId), label: each.name ?? "" }))]}
      />
    </FormDialog>
  );
}
