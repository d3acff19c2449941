/** Users as an administrator changes them. */
import { answer, api, type Schemas } from "@/api/client";

import { rules } from "../rules";
import type { User } from "../session";

export type { User };
export type AgentUserGroup = Schemas["AgentUserGroup"];

export interface UserDraft {
  username: string;
  displayName: string;
  password: string;
  admin: boolean;
  remote: boolean;
  agent: AgentUserGroup | undefined;
}

/** What a new password has to be. */
export const passwordHint = rules.password.text.replace(/^./, (first) => first.toUpperCase());

/** Why the master refuses a password. */
export function passwordRefusal(password: string): string | undefined {
  const { pattern, text } = rules.password;
  return new RegExp(pattern, "u").test(password) ? undefined : `The password is refused: ${text}.`;
}

export async function createUser(draft: UserDraft): Promise<User> {
  const got = await answer(
    api.POST("/api/v1/users", {
      body: {
        user: {
          username: draft.username,
          displayName: draft.displayName,
          admin: draft.admin,
          active: true,
          remote: draft.remote,
          ...(draft.agent ? { agentUserGroup: draft.agent } : {}),
        },
        ...(draft.remote ? {} : { password: draft.password, isHashed: false }),
      },
    }),
  );
  return got.user ?? {};
}

export async function patchUser(id: number, body: Schemas["PatchUser"]): Promise<void> {
  await answer(api.PATCH("/api/v1/users/{user_id}", { params: { path: { user_id: id } }, body }));
}

/** The results of those that the master refused. */
export async function setActive(ids: number[], active: boolean): Promise<string[]> {
  const got = await answer(
    api.PATCH("/api/v1/users", { body: { userIds: ids, activate: active } }),
  );
  return (got.results ?? []).flatMap((each) => (each.error ? [`user ${each.id}: ${each.error}`] : []));
}

export async function changeGroups(ids: number[], add: number[], remove: number[]): Promise<void> {
  await answer(
    api.PATCH("/api/v1/users/assignments", {
      body: { userIds: ids, addGroups: add, removeGroups: remove },
    }),
  );
}
