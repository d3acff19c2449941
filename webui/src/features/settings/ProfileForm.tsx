import { useState } from "react";

import { keys } from "@/data/keys";
import { patchUser } from "@/data/people/users";
import { useSession, type User } from "@/data/session";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { TextField } from "@/ui/field/Field";

export function ProfileForm({ user }: { user: User }) {
  const { renew } = useSession();
  const act = useAct();
  const [username, setUsername] = useState(user.username ?? "");
  const [displayName, setDisplayName] = useState(user.displayName ?? "");
  const changes = {
    ...(username.trim() === user.username ? {} : { username: username.trim() }),
    ...(displayName === (user.displayName ?? "") ? {} : { displayName }),
  };
  // Only an administrator may give users another user name.
  const fixed = user.remote ? "An identity provider names this user." : user.admin ? undefined : "Administrators change user names.";
  const refusal = !username.trim()
    ? "A user needs a name."
    : Object.keys(changes).length === 0
      ? "Nothing has changed."
      : undefined;
  const save = async () => {
    await act(() => patchUser(user.id ?? 0, changes), {
      done: "Saved the profile",
      failed: "The profile stays as it is",
      keys: [keys.users()],
    });
    await renew();
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!refusal) void save();
      }}
    >
      <TextField label="Display name" autoComplete="name" value={displayName} onChange={(event) => setDisplayName(event.target.value)} />
      <TextField
        label="User name"
        autoComplete="username"
        value={username}
        readOnly={Boolean(fixed)}
        hint={fixed}
        onChange={(event) => setUsername(event.target.value)}
      />
      <div>
        <Button type="submit" look="primary" disabledReason={refusal}>
          Save
        </Button>
      </div>
    </form>
  );
}
