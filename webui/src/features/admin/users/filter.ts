/** Which users the list shows. */
import type { User } from "@/data/people/users";

export type Kind = "all" | "admin" | "member";
export type Status = "all" | "active" | "inactive";

export function filterUsers(
  users: User[],
  { text, kind, status }: { text: string; kind: Kind; status: Status },
): User[] {
  const word = text.trim().toLowerCase();
  return users.filter(
    (each) =>
      (kind === "all" || Boolean(each.admin) === (kind === "admin")) &&
      (status === "all" || Boolean(each.active) === (status === "active")) &&
      `${each.username} ${each.displayName}`.toLowerCase().includes(word),
  );
}
