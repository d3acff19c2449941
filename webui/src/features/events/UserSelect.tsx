import { useUsers } from "@/data/workspaces";
import { Select } from "@/ui/field/Field";

/** The user whose entries a list shows, by id; empty for all. */
export function UserSelect({ value, onValue }: { value: string; onValue(user: string): void }) {
  const users = useUsers().data ?? [];
  return (
    <Select
      label="User"
      hideLabel
      value={value}
      onValue={onValue}
      options={[
        { value: "", label: "All users" },
        ...users.map((each) => ({ value: String(each.id), label: each.displayName || each.username || "" })),
      ]}
    />
  );
}
