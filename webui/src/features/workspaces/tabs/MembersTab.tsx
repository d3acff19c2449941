import { useMemo, useState } from "react";

import { shellWord } from "@/data/forms/shell";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { useMaster } from "@/data/master";
import { changeRole, groupKeys, useAssignableRoles, useMembers, type Member } from "@/data/people/groups";
import { useRights } from "@/data/permissions/permissions";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Select } from "@/ui/field/Field";
import { SearchField } from "@/ui/field/SearchField";
import { Notice } from "@/ui/layout/Notice";
import { Toolbar } from "@/ui/layout/Toolbar";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";

import { AddMember } from "../dialogs/AddMember";
import { useWorkspaceContext } from "../WorkspacePage";

/** Users and groups with a role in the workspace. */
export default function MembersTab() {
  const { id } = useWorkspaceContext();
  const { rbacEnabled } = useMaster();
  const query = useMembers(id);
  return (
    <div className="stack">
      {!rbacEnabled && (
        <Notice>
          This cluster decides by owner and administrator. Roles take effect with{" "}
          <code>security.authz.type: rbac</code> in the master’s configuration.
        </Notice>
      )}
      <QueryView query={query} what="the members">
        {(members) => <Listed members={members} />}
      </QueryView>
    </div>
  );
}

const keyOf = (each: Member) => `${each.kind}:${each.id}:${each.roleId}`;

function Listed({ members }: { members: Member[] }) {
  const { id, workspace } = useWorkspaceContext();
  const { may } = useRights();
  const assigns = may("PERMISSION_TYPE_ASSIGN_ROLES", id);
  const [text, setText] = useParam("q", "");
  const [adds, setAdds] = useState(false);
  const act = useAct();
  const roles = useAssignableRoles(id, assigns).data;
  const shown = members.filter((each) => each.name.toLowerCase().includes(text.trim().toLowerCase()));
  const columns = useMemo<Column<Member>[]>(() => {
    const change = (member: Member, roleId: number) =>
      void act(
        async () => {
          await changeRole("add", member, roleId, id);
          await changeRole("remove", member, member.roleId, id);
        },
        { done: `Changed the role of ${member.name}`, failed: member.name, keys: [groupKeys.members(id)] },
      );
    return [
      {
        id: "name",
        header: "Name",
        width: 240,
        grow: true,
        sortable: true,
        value: (each) => each.name,
        render: (each) => each.name,
      },
      { id: "kind", header: "Kind", width: 100, sortable: true, value: (each) => each.kind, render: (each) => (each.kind === "group" ? "Group" : "User") },
      {
        id: "role",
        header: "Role",
        width: 240,
        sortable: true,
        value: (each) => each.role,
        render: (each) =>
          assigns ? (
            <Select
              label={`Role of ${each.name}`}
              hideLabel
              style={{ minHeight: 24, padding: "0 8px", fontSize: "var(--size-13)" }}
              value={String(each.roleId)}
              onValue={(value) => change(each, Number(value))}
              options={withCurrent(roles, each).map((role) => ({ value: String(role.roleId), label: role.name ?? "" }))}
            />
          ) : (
            each.role
          ),
      },
    ];
  }, [act, assigns, id, roles]);
  return (
    <>
      <Toolbar
        end={
          <>
            {plural(shown.length, "assignment")}
            {assigns && (
              <Button look="primary" icon="plus" onClick={() => setAdds(true)}>
                Add members
              </Button>
            )}
          </>
        }
      >
        <SearchField label="Filter by name" value={text} onValue={setText} />
      </Toolbar>
      <DataTable
        label="Members"
        rows={shown}
        rowKey={keyOf}
        rowName={(each) => each.name}
        columns={columns}
        {...(assigns
          ? {
              rowMenu: (each: Member) => [
                {
                  label: `Remove the role ${each.role}`,
                  icon: "trash" as const,
                  danger: true,
                  onSelect: () =>
                    void act(() => changeRole("remove", each, each.roleId, id), {
                      done: `${each.name} is no longer ${each.role}`,
                      failed: each.name,
                      undo: () => changeRole("add", each, each.roleId, id),
                      keys: [groupKeys.members(id)],
                    }),
                },
              ],
            }
          : {})}
        empty={
          <Empty title="No members" command={`det rbac assign-role ROLE --username-to-assign USER -w ${shellWord(workspace.name ?? "")}`}>
            Nobody has a role in this workspace; roles of the whole cluster apply here too.
          </Empty>
        }
      />
      {adds && <AddMember workspaceId={id} roles={roles ?? []} onClose={() => setAdds(false)} />}
    </>
  );
}

function withCurrent<R extends { roleId?: number; name?: string }>(roles: R[] | undefined, { roleId, role }: Member) {
  const list: { roleId?: number; name?: string }[] = roles ?? [];
  return list.some((each) => each.roleId === roleId) ? list : [{ roleId, name: role }, ...list];
}
