/** Users and groups who may enter a notebook or a shell besides its owner, by name. */
import { useQuery } from "@tanstack/react-query";

import { answer, api } from "@/api/client";

import { keys } from "./keys";

export interface Entrants {
  users: string[];
  groups: string[];
}

const SHARES = "/api/v1/tasks/{task_id}/shares" as const;
const REVOKE = "/api/v1/tasks/{task_id}/shares/revoke" as const;

const pathOf = (taskId: string) => ({ path: { task_id: taskId } });

export function sharesKey(taskId: string) {
  return [...keys.task(taskId), "shares"] as const;
}

export function useShares(taskId: string) {
  return useQuery({
    queryKey: sharesKey(taskId),
    queryFn: async (): Promise<Entrants> => {
      const shares = (await answer(api.GET(SHARES, { params: pathOf(taskId) }))).shares ?? [];
      return {
        users: shares.flatMap((each) => (each.username ? [each.username] : [])),
        groups: shares.flatMap((each) => (each.group ? [each.group] : [])),
      };
    },
    staleTime: 0,
  });
}

/** Revokes before it adds: whoever is refused, nobody keeps an access that was taken back. */
export async function changeShares(taskId: string, before: Entrants, after: Entrants): Promise<void> {
  const [revoked, added] = [without(before, after), without(after, before)];
  if (revoked) await answer(api.POST(REVOKE, { params: pathOf(taskId), body: revoked }));
  if (added) await answer(api.POST(SHARES, { params: pathOf(taskId), body: added }));
}

function without(all: Entrants, others: Entrants): Entrants | undefined {
  const users = all.users.filter((each) => !others.users.includes(each));
  const groups = all.groups.filter((each) => !others.groups.includes(each));
  return users.length + groups.length > 0 ? { users, groups } : undefined;
}
