import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { createToken, tokenKey } from "@/data/people/tokens";
import type { User } from "@/data/session";
import { useUsers } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { Select, TextField } from "@/ui/field/Field";
import { Dialog } from "@/ui/overlay/Dialog";
import { FormDialog } from "@/ui/overlay/FormDialog";
import { CopyButton } from "@/ui/text/Copy";

import styles from "../Admin.module.css";

const LIVES = [
  { value: "0", label: "The default of the cluster" },
  { value: "1", label: "1 day" },
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "-1", label: "The longest that the cluster allows" },
];

/** Creates a token, then shows it: the master never gives it again. */
export function TokenForm({
  user,
  fixed,
  onClose,
}: {
  user: User | undefined;
  /** The token is of this user and no other. */
  fixed: boolean;
  onClose(): void;
}) {
  const cache = useQueryClient();
  const users = (useUsers().data ?? []).filter((each) => each.active);
  const [owner, setOwner] = useState(String(user?.id ?? ""));
  const [days, setDays] = useState("30");
  const [description, setDescription] = useState("");
  const [token, setToken] = useState("");
  if (token) return <Shown token={token} onClose={onClose} />;
  return (
    <FormDialog
      title="New access token"
      action="Create"
      onSubmit={async () => {
        setToken(await createToken(Number(owner), Number(days), description.trim()));
        await cache.invalidateQueries({ queryKey: tokenKey });
        return false;
      }}
      onClose={onClose}
    >
      {!fixed && (
        <Select
          label="User"
          hint="Whoever has the token acts as this user."
          value={owner}
          onValue={setOwner}
          options={users.map((each) => ({ value: String(each.id), label: each.displayName || each.username || "" }))}
        />
      )}
      <Select label="Expires after" value={days} onValue={setDays} options={LIVES} />
      <TextField
        label="Description"
        hint="What uses the token, for example: nightly evaluation"
        value={description}
        onChange={(event) => setDescription(event.target.value)}
      />
    </FormDialog>
  );
}

function Shown({ token, onClose }: { token: string; onClose(): void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="Copy the token now"
      description="It is shown this once. The master keeps only a hash of it."
      footer={
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="stack">
        <div className="row" style={{ flexWrap: "nowrap" }}>
          <code className={`${styles.secret} grow`} data-secret="">
            {token}
          </code>
          <CopyButton text={token} label="Copy the token" />
        </div>
        <p className="hint">
          Use it with <code>det token login</code>, or in the header <code>Authorization: Bearer</code>.
        </p>
      </div>
    </Dialog>
  );
}
