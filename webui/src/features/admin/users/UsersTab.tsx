import { useMemo, useState } from "react";

import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { useMaster } from "@/data/master";
import type { User } from "@/data/people/users";
import { useUsers } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Select } from "@/ui/field/Field";
import { SearchField } from "@/ui/field/SearchField";
import { Toolbar } from "@/ui/layout/Toolbar";
import { StateBadge } from "@/ui/state/StateBadge";
import { DataTable } from "@/ui/table/DataTable";
import { isSelected, NOTHING } from "@/ui/table/selection";
import { SelectionBar } from "@/ui/table/SelectionBar";
import type { Column, Selection } from "@/ui/table/types";
import { Time } from "@/ui/text/Time";

import { BatchActs } from "./BatchActs";
import { filterUsers, type Kind, type Status } from "./filter";
import { UserForm } from "./UserForm";
import { useUserMenu } from "./useUserMenu";

export default function UsersTab() {
  const query = useUsers();
  return (
    <QueryView query={query} what="the users">
      {(users) => <Listed users={users} />}
    </QueryView>
  );
}

const COLUMNS: Column<User>[] = [
  { id: "username", header: "User name", width: 160, pin: true, sortable: true, value: (each) => each.username, render: (each) => each.username },
  { id: "displayName", header: "Display name", width: 180, grow: true, sortable: true, value: (each) => each.displayName, render: (each) => each.displayName || <span className="hint">–</span> },
  { id: "status", header: "Status", width: 120, type: "state", sortable: true, value: (each) => each.active, render: (each) => (each.active ? <StateBadge state="COMPLETED" label="Active" plain /> : <StateBadge state="ended" label="Inactive" plain />) },
  { id: "kind", header: "Administrator", width: 120, sortable: true, value: (each) => each.admin, render: (each) => (each.admin ? "Administrator" : "") },
  { id: "remote", header: "Sign-in", width: 110, sortable: true, value: (each) => each.remote, render: (each) => (each.remote ? "Remote" : "Password") },
  { id: "agent", header: "User on agents", width: 160, value: (each) => agentWord(each), render: (each) => agentWord(each) || <span className="hint">–</span> },
  { id: "lastAuth", header: "Last seen", width: 120, type: "date", sortable: true, value: (each) => each.lastAuthAt, render: (each) => <Time at={each.lastAuthAt} /> },
  { id: "modified", header: "Changed", width: 120, type: "date", sortable: true, value: (each) => each.modifiedAt, render: (each) => <Time at={each.modifiedAt} /> },
];

function agentWord({ agentUserGroup: agent }: User): string {
  if (!agent) return "";
  const pair = (name: string | undefined, id: number | undefined) => (name ? `${name} (${id})` : "");
  return [pair(agent.agentUser, agent.agentUid), pair(agent.agentGroup, agent.agentGid)].filter(Boolean).join(" : ");
}

function Listed({ users }: { users: User[] }) {
  const { userManagementEnabled = true } = useMaster();
  const [text, setText] = useParam("q", "");
  const [kind, setKind] = useParam<Kind>("role", "all");
  const [status, setStatus] = useParam<Status>("status", "all");
  const [creates, setCreates] = useState(false);
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const shown = useMemo(() => filterUsers(users, { text, kind, status }), [kind, status, text, users]);
  const { menuOf, edit, element } = useUserMenu();
  const chosen = (selection.all ? shown : users).filter((each) => isSelected(selection, each.id ?? 0));
  return (
    <div className="stack">
      <Toolbar
        end={
          <>
            {plural(shown.length, "user")}
            <Button
              look="primary"
              icon="plus"
              disabledReason={userManagementEnabled ? undefined : "An identity provider manages the users of this cluster."}
              onClick={() => setCreates(true)}
            >
              Add a user
            </Button>
          </>
        }
      >
        <SearchField label="Filter by name" value={text} onValue={setText} />
        <Select
          label="Role"
          hideLabel
          value={kind}
          onValue={(value) => setKind(value as Kind)}
          options={[
            { value: "all", label: "All roles" },
            { value: "admin", label: "Administrators" },
            { value: "member", label: "Others" },
          ]}
        />
        <Select
          label="Status"
          hideLabel
          value={status}
          onValue={(value) => setStatus(value as Status)}
          options={[
            { value: "all", label: "Active and inactive" },
            { value: "active", label: "Active" },
            { value: "inactive", label: "Inactive" },
          ]}
        />
      </Toolbar>
      <SelectionBar
        selection={selection}
        onSelection={setSelection}
        total={shown.length}
        listed={shown.map((each) => each.id ?? 0)}
        word="user"
      >
        <BatchActs users={chosen} onDone={() => setSelection(NOTHING)} />
      </SelectionBar>
      <DataTable
        label="Users"
        rows={shown}
        rowKey={(each) => each.id ?? 0}
        rowName={(each) => each.username ?? ""}
        columns={COLUMNS}
        selection={selection}
        onSelection={setSelection}
        rowMenu={menuOf}
        onOpen={edit}
        empty={
          <Empty title="No user matches" command="det user create NAME">
            Change the text or the filters.
          </Empty>
        }
      />
      {creates && <UserForm onClose={() => setCreates(false)} />}
      {element}
    </div>
  );
}
