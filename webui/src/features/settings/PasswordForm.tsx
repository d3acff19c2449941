import { useState } from "react";

import { messageOf } from "@/api/errors";
import { changePassword, WrongPassword } from "@/data/people/password";
import { passwordHint, passwordRefusal } from "@/data/people/users";
import { useSession, type User } from "@/data/session";
import { Button } from "@/ui/button/Button";
import { toast } from "@/ui/feedback/toast";
import { TextField } from "@/ui/field/Field";

export function PasswordForm({ user }: { user: User }) {
  const { signIn } = useSession();
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const [repeated, setRepeated] = useState("");
  const [wrong, setWrong] = useState("");
  const [failure, setFailure] = useState("");
  const [isBusy, setBusy] = useState(false);
  if (user.remote) return <p className="hint">An identity provider checks your password.</p>;
  const weak = passwordRefusal(next);
  const refusal = isBusy
    ? "The master is asked."
    : (weak ?? (next === repeated ? undefined : "The new passwords differ."));
  const save = async () => {
    setBusy(true);
    setWrong("");
    setFailure("");
    try {
      const username = user.username ?? "";
      await changePassword({ id: user.id ?? 0, username }, old, next);
      await signIn(username, next);
      toast.done("The password is changed; your other sessions have ended");
      [setOld, setNext, setRepeated].forEach((clear) => clear(""));
    } catch (error) {
      if (error instanceof WrongPassword) setWrong(error.message);
      else setFailure(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!refusal) void save();
      }}
    >
      <input type="hidden" name="username" autoComplete="username" value={user.username ?? ""} />
      <TextField label="Old password" type="password" autoComplete="current-password" value={old} error={wrong || undefined} onChange={(event) => setOld(event.target.value)} />
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        hint={passwordHint}
        value={next}
        error={next ? weak : undefined}
        onChange={(event) => setNext(event.target.value)}
      />
      <TextField
        label="New password again"
        type="password"
        autoComplete="new-password"
        value={repeated}
        error={repeated && repeated !== next ? "The new passwords differ." : failure || undefined}
        onChange={(event) => setRepeated(event.target.value)}
      />
      <div>
        <Button type="submit" look="primary" disabledReason={refusal}>
          Change the password
        </Button>
      </div>
    </form>
  );
}
