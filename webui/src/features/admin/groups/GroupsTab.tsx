import { useState } from "react";

import { answer, api } from "@/api/client";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { groupKeys, useGroups, type Group } from "@/data/people/groups";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { SearchField } from "@/ui/field/SearchField";
import { Toolbar } from "@/ui/layout/Toolbar";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { confirm } from "@/ui/overlay/confirm";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";

import { RolesDialog } from "../RolesDialog";
import { GroupForm } from "./GroupForm";

export default function GroupsTab() {
  const query = useGroups();
  return (
    <QueryView query={query} what="the groups">
      {(groups) => <Listed groups={groups} />}
    </QueryView>
  );
}

const COLUMNS: Column<Group>[] = [
  { id: "name", header: "Name", width: 260, grow: true, sortable: true, value: (each) => each.group?.name, render: (each) => each.group?.name },
  { id: "members", header: "Members", width: 110, type: "number", align: "end", sortable: true, value: (each) => each.numMembers, render: (each) => each.numMembers },
];

type Open = { kind: "edit" | "roles"; id: number; name: string };

function Listed({ groups }: { groups: Group[] }) {
  const act = useAct();
  const [text, setText] = useParam("q", "");
  const [creates, setCreates] = useState(false);
  const [open, setOpen] = useState<Open>();
  const shown = groups.filter((each) => (each.group?.name ?? "").toLowerCase().includes(text.trim().toLowerCase()));
  const remove = async (id: number, { group, numMembers = 0 }: Group) => {
    const yes = await confirm({
      title: `Delete group ${group?.name}?`,
      body: `Its ${plural(numMembers, "member")} lose the roles that the group gives them. This cannot be undone.`,
      action: "Delete",
      danger: true,
    });
    if (yes)
      await act(() => answer(api.DELETE("/api/v1/groups/{group_id}", { params: { path: { group_id: id } } })), {
        done: `Deleted group ${group?.name}`,
        failed: `Group ${group?.name}`,
        keys: [groupKeys.groups()],
      });
  };
  const menuOf = (each: Group): MenuEntry[] => {
    const id = each.group?.groupId ?? 0;
    const name = each.group?.name ?? "";
    return [
      { label: "Edit the name and members …", icon: "edit", onSelect: () => setOpen({ kind: "edit", id, name }) },
      { label: "Roles of the cluster …", icon: "shield", onSelect: () => setOpen({ kind: "roles", id, name }) },
      "separator",
      { label: "Delete …", icon: "trash", danger: true, onSelect: () => void remove(id, each) },
    ];
  };
  return (
    <div className="stack">
      <Toolbar
        end={
          <>
            {plural(shown.length, "group")}
            <Button look="primary" icon="plus" onClick={() => setCreates(true)}>
              New group
            </Button>
          </>
        }
      >
        <SearchField label="Filter by name" value={text} onValue={setText} />
      </Toolbar>
      <DataTable
        label="Groups"
        rows={shown}
        rowKey={(each) => each.group?.groupId ?? 0}
        rowName={(each) => each.group?.name ?? ""}
        columns={COLUMNS}
        rowMenu={menuOf}
        onOpen={({ group }) => setOpen({ kind: "edit", id: group?.groupId ?? 0, name: group?.name ?? "" })}
        empty={
          groups.length === 0 ? (
            <Empty title="No groups yet" command="det user-group create NAME">
              A group gives its members roles together.
            </Empty>
          ) : (
            <Empty title="No group matches">Change the text.</Empty>
          )
        }
      />
      {creates && <GroupForm onClose={() => setCreates(false)} />}
      {open?.kind === "edit" && <GroupForm groupId={open.id} onClose={() => setOpen(undefined)} />}
      {open?.kind === "roles" && (
        <RolesDialog principal={{ kind: "group", id: open.id }} name={open.name} onClose={() => setOpen(undefined)} />
      )}
    </div>
  );
}
