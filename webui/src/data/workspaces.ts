/** Workspaces and users: small lists that many pages show names from. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useCallback } from "react";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "./keys";
import { useSession } from "./session";

export type Workspace = Schemas["Workspace"];

export function useWorkspaces() {
  const { status } = useSession();
  return useQuery({
    queryKey: keys.workspaces(),
    queryFn: async () =>
      (await answer(api.GET("/api/v1/workspaces", { params: { query: { limit: -1 } } })))
        .workspaces ?? [],
    enabled: status === "signed-in",
    staleTime: 15_000,
    refetchInterval: ({ state }) => (state.data?.some(isLeaving) ? 3_000 : 60_000),
  });
}

/** Whether it is being deleted: it is gone soon. */
function isLeaving({ state }: Workspace): boolean {
  return state === "WORKSPACE_STATE_DELETING";
}

export function usersQuery() {
  return queryOptions({
    queryKey: keys.users(),
    queryFn: async () =>
      (await answer(api.GET("/api/v1/users", { params: { query: { limit: 0 } } }))).users ?? [],
    staleTime: 30_000,
  });
}

export function useUsers() {
  const { status } = useSession();
  return useQuery({ ...usersQuery(), enabled: status === "signed-in", refetchInterval: 60_000 });
}

/** The name of a user: the display name, else the user name, else the number. */
export function useUserName(): (id: number | undefined) => string {
  const users = useUsers().data;
  return useCallback(
    (id) => {
      if (id === undefined) return "–";
      const user = users?.find((each) => each.id === id);
      return user?.displayName || user?.username || `user ${id}`;
    },
    [users],
  );
}
