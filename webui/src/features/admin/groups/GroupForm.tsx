import { useState } from "react";

import { answer, api, type Schemas } from "@/api/client";
import { groupKeys, useGroup } from "@/data/people/groups";
import { useUsers } from "@/data/workspaces";
import { TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

import { Choices } from "../Choices";

export function GroupForm({ groupId, onClose }: { groupId?: number; onClose(): void }) {
  return groupId === undefined ? <Form group={undefined} onClose={onClose} /> : <Edit groupId={groupId} onClose={onClose} />;
}

function Edit({ groupId, onClose }: { groupId: number; onClose(): void }) {
  const group = useGroup(groupId).data;
  return group ? <Form group={group} onClose={onClose} /> : null;
}

function Form({ group, onClose }: { group: Schemas["GroupDetails"] | undefined; onClose(): void }) {
  const users = useUsers().data ?? [];
  const before = (group?.users ?? []).map((each) => each.id ?? 0);
  const [name, setName] = useState(group?.name ?? "");
  const [members, setMembers] = useState<Set<number>>(new Set(before));
  const submit = async () => {
    if (!group) {
      await answer(api.POST("/api/v1/groups", { body: { name: name.trim(), addUsers: [...members] } }));
      return;
    }
    const groupId = group.groupId ?? 0;
    await answer(
      api.PUT("/api/v1/groups/{group_id}", {
        params: { path: { group_id: groupId } },
        body: {
          groupId,
          name: name.trim(),
          addUsers: [...members].filter((each) => !before.includes(each)),
          removeUsers: before.filter((each) => !members.has(each)),
        },
      }),
    );
  };
  return (
    <FormDialog
      title={group ? `Edit group ${group.name}` : "New group"}
      action={group ? "Save" : "Create"}
      keys={[groupKeys.groups()]}
      refusal={name.trim() ? undefined : "A group needs a name."}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} />
      <Choices
        legend="Members"
        options={users.map((each) => ({
          id: each.id ?? 0,
          label: each.displayName ? `${each.displayName} (${each.username})` : (each.username ?? ""),
        }))}
        chosen={members}
        onChosen={setMembers}
      />
    </FormDialog>
  );
}
