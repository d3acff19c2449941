import { useState } from "react";

import { keys } from "@/data/keys";
import { plural } from "@/data/format/numbers";
import { changeRole, groupKeys, useAssignableRoles, useGroups } from "@/data/people/groups";
import { changeGroups, setActive, type User } from "@/data/people/users";
import { useSession } from "@/data/session";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { Select } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

type Change = "groups" | "roles";

/** What can be done with several users at once. */
export function BatchActs({ users, onDone }: { users: User[]; onDone(): void }) {
  const { user: me } = useSession();
  const act = useAct();
  const [change, setChange] = useState<Change>();
  const others = users.filter((each) => each.id !== me?.id);
  const activate = async (active: boolean) => {
    const affected = (active ? users : others).filter((each) => each.active !== active);
    const ids = affected.map((each) => each.id ?? 0);
    const run = async (to: boolean) => {
      const refused = await setActive(ids, to);
      if (refused.length > 0) throw new Error(refused.join("; "));
    };
    await act(() => run(active), {
      done: `${active ? "Activated" : "Deactivated"} ${plural(ids.length, "user")}`,
      failed: "Some users stay as they are",
      undo: () => run(!active),
      keys: [keys.users()],
    });
    onDone();
  };
  const inactive = users.filter((each) => !each.active).length;
  const active = others.filter((each) => each.active).length;
  return (
    <>
      <Button small disabledReason={inactive === 0 ? "All of them are active." : undefined} onClick={() => void activate(true)}>
        Activate {inactive || ""}
      </Button>
      <Button
        small
        disabledReason={active === 0 ? "None of them is active, except yourself." : undefined}
        onClick={() => void activate(false)}
      >
        Deactivate {active || ""}
      </Button>
      <Button small onClick={() => setChange("groups")}>
        Groups …
      </Button>
      <Button small onClick={() => setChange("roles")}>
        Roles …
      </Button>
      {change && <BatchDialog change={change} users={users} onClose={() => setChange(undefined)} />}
    </>
  );
}

function BatchDialog({ change, users, onClose }: { change: Change; users: User[]; onClose(): void }) {
  const groups = useGroups(undefined, change === "groups").data ?? [];
  const roles = useAssignableRoles(0, change === "roles").data ?? [];
  const [how, setHow] = useState<"add" | "remove">("add");
  const [target, setTarget] = useState("");
  const ids = users.map((each) => each.id ?? 0);
  const submit = async () => {
    const id = Number(target);
    if (change === "groups") await changeGroups(ids, how === "add" ? [id] : [], how === "remove" ? [id] : []);
    else for (const each of ids) await changeRole(how, { kind: "user", id: each }, id);
  };
  const word = change === "groups" ? "group" : "role";
  return (
    <FormDialog
      title={`Change the ${change} of ${plural(users.length, "user")}`}
      action={how === "add" ? "Add" : "Remove"}
      keys={[keys.users(), groupKeys.groups(), groupKeys.roles()]}
      refusal={target ? undefined : `Choose a ${word}.`}
      onSubmit={submit}
      onClose={onClose}
    >
      <Select
        label="Change"
        value={how}
        onValue={(value) => setHow(value as "add" | "remove")}
        options={[
          { value: "add", label: `Add the ${word}` },
          { value: "remove", label: `Remove the ${word}` },
        ]}
      />
      <Select
        label={change === "groups" ? "Group" : "Role of the cluster"}
        value={target}
        onValue={setTarget}
        options={[
          { value: "", label: "Choose …" },
          ...(change === "groups"
            ? groups.map(({ group }) => ({ value: String(group?.groupId), label: group?.name ?? "" }))
            : roles.map((each) => ({ value: String(each.roleId), label: each.name ?? "" }))),
        ]}
      />
    </FormDialog>
  );
}
