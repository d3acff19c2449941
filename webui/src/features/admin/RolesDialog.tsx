import { useState } from "react";

import { useMaster } from "@/data/master";
import { changeRole, groupKeys, useAssignableRoles, useGlobalRoles, type Principal } from "@/data/people/groups";
import { keys } from "@/data/keys";
import { QueryView } from "@/ui/feedback/Feedback";
import { Notice } from "@/ui/layout/Notice";
import { FormDialog } from "@/ui/overlay/FormDialog";

import { Choices } from "./Choices";

/** The roles that a user or a group has in the whole cluster. */
export function RolesDialog({
  principal,
  name,
  onClose,
}: {
  principal: Principal;
  name: string;
  onClose(): void;
}) {
  const { rbacEnabled } = useMaster();
  const all = useAssignableRoles(0);
  const stored = useGlobalRoles(principal);
  const [chosen, setChosen] = useState<Set<number>>();
  const before = new Set((stored.data ?? []).map((each) => each.roleId ?? 0));
  const now = chosen ?? before;
  const submit = async () => {
    for (const id of now) if (!before.has(id)) await changeRole("add", principal, id);
    for (const id of before) if (!now.has(id)) await changeRole("remove", principal, id);
  };
  return (
    <FormDialog
      title={`Roles of ${name}`}
      description="Roles with the whole cluster as their scope. Roles in one workspace are given on its page."
      action="Save"
      keys={[groupKeys.roles(), keys.permissions()]}
      refusal={chosen ? undefined : "Nothing has changed."}
      onSubmit={submit}
      onClose={onClose}
    >
      {!rbacEnabled && <Notice>Roles take effect only with `security.authz.type: rbac`.</Notice>}
      <QueryView query={stored} what="the roles">
        {(mine) => (
          <Choices
            legend="Roles"
            options={[...new Map([...mine, ...(all.data ?? [])].map((each) => [each.roleId, each])).values()].map((each) => ({
              id: each.roleId ?? 0,
              label: each.name ?? "",
            }))}
            chosen={now}
            onChosen={setChosen}
          />
        )}
      </QueryView>
    </FormDialog>
  );
}
