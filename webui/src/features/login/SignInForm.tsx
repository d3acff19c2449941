import { useRef, useState, type FormEvent } from "react";

import { messageOf } from "@/api/errors";
import { useSession } from "@/data/session";
import { Button } from "@/ui/button/Button";
import { TextField } from "@/ui/field/Field";
import { login as text } from "@/strings/shell";

const LAST_NAME = "det.username";

/** `fixedName` is the user whose session ended: only the password is asked for. */
export function SignInForm({
  onDone,
  fixedName,
}: {
  onDone(token: string, emptyPassword: boolean): void;
  fixedName?: string | undefined;
}) {
  const { signIn } = useSession();
  const [name, setName] = useState(fixedName ?? localStorage.getItem(LAST_NAME) ?? "");
  const [password, setPassword] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const passwordField = useRef<HTMLInputElement>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      const token = await signIn(name.trim(), password);
      localStorage.setItem(LAST_NAME, name.trim());
      onDone(token, password === "");
    } catch (failure) {
      setError(messageOf(failure));
      passwordField.current?.focus();
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="stack" onSubmit={(event) => void submit(event)}>
      <TextField
        label={text.username}
        name="username"
        autoComplete="username"
        autoFocus={!name}
        readOnly={fixedName !== undefined}
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
      />
      <TextField
        ref={passwordField}
        label={text.password}
        name="password"
        type="password"
        autoComplete="current-password"
        autoFocus={Boolean(name)}
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        error={error || undefined}
      />
      <Button type="submit" look="primary" disabled={busy}>
        {text.submit}
      </Button>
    </form>
  );
}
