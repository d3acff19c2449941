import type { AgentUserGroup } from "@/data/people/users";
import { TextField } from "@/ui/field/Field";

import styles from "./Admin.module.css";

export interface AgentDraft {
  user: string;
  uid: string;
  group: string;
  gid: string;
}

const EMPTY: AgentDraft = { user: "", uid: "", group: "", gid: "" };

export function draftOf(agent: AgentUserGroup | null | undefined): AgentDraft {
  if (!agent) return EMPTY;
  return {
    user: agent.agentUser ?? "",
    uid: agent.agentUid === undefined ? "" : String(agent.agentUid),
    group: agent.agentGroup ?? "",
    gid: agent.agentGid === undefined ? "" : String(agent.agentGid),
  };
}

/** `undefined` when nothing is filled in. */
export function agentOf(draft: AgentDraft): AgentUserGroup | undefined {
  const given: AgentUserGroup = {
    ...(draft.user.trim() ? { agentUser: draft.user.trim() } : {}),
    ...(draft.uid.trim() ? { agentUid: Number(draft.uid) } : {}),
    ...(draft.group.trim() ? { agentGroup: draft.group.trim() } : {}),
    ...(draft.gid.trim() ? { agentGid: Number(draft.gid) } : {}),
  };
  return Object.keys(given).length > 0 ? given : undefined;
}

/** Why the fields cannot be sent: a name belongs to a number, and the other way round. */
export function agentRefusal({ user, uid, group, gid }: AgentDraft): string | undefined {
  for (const [what, id] of [["The user id", uid], ["The group id", gid]] as const)
    if (id.trim() && !/^\d{1,10}$/.test(id.trim())) return `${what} is a number from 0.`;
  if (Boolean(user.trim()) !== Boolean(uid.trim())) return "A user of the tasks has a name and an id.";
  if (Boolean(group.trim()) !== Boolean(gid.trim())) return "A group of the tasks has a name and an id.";
  return undefined;
}

export function AgentFields({
  legend,
  hint,
  value,
  onValue,
}: {
  legend: string;
  hint: string;
  value: AgentDraft;
  onValue(next: AgentDraft): void;
}) {
  const field = (label: string, name: keyof AgentDraft, numeric = false) => (
    <TextField
      label={label}
      value={value[name]}
      {...(numeric ? { inputMode: "numeric" as const } : {})}
      onChange={(event) => onValue({ ...value, [name]: event.target.value })}
    />
  );
  return (
    <fieldset className={styles.fieldset}>
      <legend>{legend}</legend>
      <p className="hint">{hint}</p>
      <div className={styles.four}>
        {field("User name", "user")}
        {field("User id", "uid", true)}
        {field("Group name", "group")}
        {field("Group id", "gid", true)}
      </div>
    </fieldset>
  );
}
