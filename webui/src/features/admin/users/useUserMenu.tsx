import { useState } from "react";

import { keys } from "@/data/keys";
import { setActive, type User } from "@/data/people/users";
import { useSession } from "@/data/session";
import { useAct } from "@/ui/feedback/useAct";
import type { MenuEntry } from "@/ui/overlay/Menu";

import { RolesDialog } from "../RolesDialog";
import { PasswordDialog } from "./PasswordDialog";
import { UserForm } from "./UserForm";

type Open = { kind: "edit" | "password" | "roles"; user: User };

/** The acts on a user; `element` is the dialog that an act opened. */
export function useUserMenu() {
  const { user: me } = useSession();
  const act = useAct();
  const [open, setOpen] = useState<Open>();
  const toggle = (user: User) => {
    const id = user.id ?? 0;
    const on = !user.active;
    const change = async (to: boolean) => {
      const refused = await setActive([id], to);
      if (refused.length > 0) throw new Error(refused.join("; "));
    };
    void act(() => change(on), {
      done: on ? `${user.username} may sign in` : `${user.username} is deactivated; their sessions end`,
      failed: user.username ?? "",
      undo: () => change(!on),
      keys: [keys.users()],
    });
  };
  const menuOf = (user: User): MenuEntry[] => [
    { label: "Edit …", icon: "edit", onSelect: () => setOpen({ kind: "edit", user }) },
    {
      label: "Set a password …",
      icon: "key",
      disabledReason: user.remote ? "An identity provider checks this user." : undefined,
      onSelect: () => setOpen({ kind: "password", user }),
    },
    { label: "Roles of the cluster …", icon: "shield", onSelect: () => setOpen({ kind: "roles", user }) },
    "separator",
    {
      label: user.active ? "Deactivate" : "Activate",
      icon: user.active ? "pause" : "play",
      danger: user.active ?? false,
      disabledReason: user.active && user.id === me?.id ? "You cannot deactivate yourself." : undefined,
      onSelect: () => toggle(user),
    },
  ];
  const close = () => setOpen(undefined);
  const element = (
    <>
      {open?.kind === "edit" && <UserForm user={open.user} onClose={close} />}
      {open?.kind === "password" && <PasswordDialog user={open.user} onClose={close} />}
      {open?.kind === "roles" && (
        <RolesDialog principal={{ kind: "user", id: open.user.id ?? 0 }} name={open.user.username ?? ""} onClose={close} />
      )}
    </>
  );
  return { menuOf, element, edit: (user: User) => setOpen({ kind: "edit", user }) };
}
