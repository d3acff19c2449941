import { useState } from "react";

import { keys } from "@/data/keys";
import { patchUser, passwordRefusal, type User } from "@/data/people/users";
import { TextField } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { FormDialog } from "@/ui/overlay/FormDialog";

export function PasswordDialog({ user, onClose }: { user: User; onClose(): void }) {
  const [password, setPassword] = useState("");
  const [repeated, setRepeated] = useState("");
  const weak = passwordRefusal(password);
  return (
    <FormDialog
      title={`Set a password for ${user.username}`}
      description="All sessions of the user end."
      action="Set the password"
      keys={[keys.users()]}
      refusal={weak ?? (password === repeated ? undefined : "The passwords differ.")}
      onSubmit={async () => {
        await patchUser(user.id ?? 0, { password, isHashed: false });
        toast.done(`The password of ${user.username} is set`);
      }}
      onClose={onClose}
    >
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        value={password}
        error={password ? weak : undefined}
        onChange={(event) => setPassword(event.target.value)}
      />
      <TextField
        label="New password again"
        type="password"
        autoComplete="new-password"
        value={repeated}
        error={repeated && repeated !== password ? "The passwords differ." : undefined}
        onChange={(event) => setRepeated(event.target.value)}
      />
    </FormDialog>
  );
}
