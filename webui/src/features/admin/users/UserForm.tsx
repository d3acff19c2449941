import { useState } from "react";

import { keys } from "@/data/keys";
import { changeGroups, createUser, passwordHint, passwordRefusal, patchUser, type User } from "@/data/people/users";
import { groupKeys, useGroups } from "@/data/people/groups";
import { useSession } from "@/data/session";
import { Checkbox, TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

import { AgentFields, agentOf, agentRefusal, draftOf } from "../AgentFields";
import { Choices } from "../Choices";

/** Adds a user, or edits the given one. */
export function UserForm({ user, onClose }: { user?: User; onClose(): void }) {
  const { user: me } = useSession();
  const [username, setUsername] = useState(user?.username ?? "");
  const [displayName, setDisplayName] = useState(user?.displayName ?? "");
  const [password, setPassword] = useState("");
  const [admin, setAdmin] = useState(user?.admin ?? false);
  const [remote, setRemote] = useState(user?.remote ?? false);
  const [agent, setAgent] = useState(draftOf(user?.agentUserGroup));
  const groups = useGroups().data ?? [];
  const own = useGroups(user?.id, Boolean(user)).data ?? [];
  const memberOf = user ? own.map(({ group }) => group?.groupId ?? 0) : [];
  const [chosen, setChosen] = useState<Set<number>>();
  const inGroups = chosen ?? new Set(memberOf);
  const weak = !user && !remote ? passwordRefusal(password) : undefined;
  const submit = async () => {
    const agentUserGroup = agentOf(agent);
    let id = user?.id;
    if (id === undefined)
      id = (await createUser({ username: username.trim(), displayName, password, admin, remote, agent: agentUserGroup })).id ?? 0;
    else
      await patchUser(id, {
        ...(username.trim() === user?.username ? {} : { username: username.trim() }),
        ...(displayName === user?.displayName ? {} : { displayName }),
        ...(admin === user?.admin ? {} : { admin }),
        ...(remote === user?.remote ? {} : { remote }),
        ...(agentUserGroup ? { agentUserGroup } : {}),
      });
    const add = [...inGroups].filter((each) => !memberOf.includes(each));
    const remove = memberOf.filter((each) => !inGroups.has(each));
    if (chosen && (add.length > 0 || remove.length > 0)) await changeGroups([id], add, remove);
  };
  return (
    <FormDialog
      title={user ? `Edit user ${user.username}` : "Add a user"}
      action={user ? "Save" : "Add"}
      width={560}
      keys={[keys.users(), groupKeys.groups(), keys.permissions()]}
      refusal={!username.trim() ? "A user needs a name." : (weak ?? agentRefusal(agent))}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="User name" autoComplete="off" value={username} onChange={(event) => setUsername(event.target.value)} />
      <TextField label="Display name" autoComplete="off" value={displayName} onChange={(event) => setDisplayName(event.target.value)} />
      {!user && !remote && (
        <TextField
          label="Password"
          type="password"
          autoComplete="new-password"
          hint={passwordHint}
          value={password}
          error={password ? weak : undefined}
          onChange={(event) => setPassword(event.target.value)}
        />
      )}
      <div className="row" style={{ gap: 20 }}>
        <Checkbox
          label="Administrator"
          checked={admin}
          disabled={user?.id === me?.id}
          title={user?.id === me?.id ? "You cannot change this of yourself." : undefined}
          onValue={setAdmin}
        />
        <Checkbox label="Remote: an identity provider checks the sign-in" checked={remote} onValue={setRemote} />
      </div>
      <AgentFields
        legend="User and group on the agents"
        hint="The user’s tasks run as this user and group. Once set, they can be changed but not cleared."
        value={agent}
        onValue={setAgent}
      />
      {groups.length > 0 && (
        <Choices
          legend="Groups"
          options={groups.map(({ group }) => ({ id: group?.groupId ?? 0, label: group?.name ?? "" }))}
          chosen={inGroups}
          onChosen={setChosen}
        />
      )}
    </FormDialog>
  );
}
