/** Groups of users and roles (RBAC). */
import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

export type Role = Schemas["Role"];
export type Group = Schemas["GroupSearchResult"];

const MAX_GROUPS = 500;

export const groupKeys = {
  groups: () => ["groups"] as const,
  group: (id: number) => ["groups", id] as const,
  roles: () => ["roles"] as const,
  members: (workspaceId: number) => ["workspaces", workspaceId, "members"] as const,
};

/** All groups, or those of a user. */
export function useGroups(userId?: number, enabled = true) {
  return useQuery({
    queryKey: [...groupKeys.groups(), "of", userId ?? 0],
    queryFn: async () =>
      (
        await answer(
          api.POST("/api/v1/groups/search", {
            body: { limit: MAX_GROUPS, ...(userId === undefined ? {} : { userId }) },
          }),
        )
      ).groups ?? [],
    enabled,
  });
}

export function useGroup(id: number) {
  return useQuery({
    queryKey: groupKeys.group(id),
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/groups/{group_id}", { params: { path: { group_id: id } } }),
        )
      ).group ?? {},
  });
}

/** Roles that can be assigned to a workspace, or with 0 to the whole cluster. */
export function useAssignableRoles(workspaceId: number, enabled = true) {
  return useQuery({
    queryKey: [...groupKeys.roles(), workspaceId],
    queryFn: async () =>
      (
        await answer(
          api.POST("/api/v1/roles/search/by-assignability", {
            body: { limit: MAX_GROUPS, ...(workspaceId ? { workspaceId } : {}) },
          }),
        )
      ).roles ?? [],
    enabled,
  });
}

export interface Principal {
  kind: "user" | "group";
  id: number;
}

/** Roles with the scope of the whole cluster. */
export function useGlobalRoles(of: Principal | undefined) {
  return useQuery({
    queryKey: [...groupKeys.roles(), "of", of?.kind, of?.id],
    queryFn: async (): Promise<Role[]> => {
      if (of?.kind === "group") {
        const params = { params: { path: { group_id: of.id } } };
        const got = await answer(api.GET("/api/v1/roles/search/by-group/{group_id}", params));
        return (got.assignments ?? []).filter((each) => each.scopeCluster).flatMap((each) => roleOf(got.roles, each.roleId));
      }
      const params = { params: { path: { user_id: of?.id ?? 0 } } };
      const got = await answer(api.GET("/api/v1/roles/search/by-user/{user_id}", params));
      return (got.roles ?? []).flatMap((each) =>
        (each.userRoleAssignments ?? []).some((one) => one.roleAssignment?.scopeCluster) && each.role
          ? [each.role]
          : [],
      );
    },
    enabled: of !== undefined,
  });
}

function roleOf(roles: Role[] | undefined, id: number | undefined): Role[] {
  return (roles ?? []).filter((each) => each.roleId === id);
}

/** Adds or removes one role; without a workspace its scope is the cluster. */
export async function changeRole(
  how: "add" | "remove",
  { kind, id }: Principal,
  roleId: number,
  workspaceId?: number,
): Promise<void> {
  const roleAssignment = {
    role: { roleId },
    ...(workspaceId === undefined ? { scopeCluster: true } : { scopeWorkspaceId: workspaceId }),
  };
  const body =
    kind === "user"
      ? { userRoleAssignments: [{ userId: id, roleAssignment }] }
      : { groupRoleAssignments: [{ groupId: id, roleAssignment }] };
  await answer(
    how === "add"
      ? api.POST("/api/v1/roles/add-assignments", { body })
      : api.POST("/api/v1/roles/remove-assignments", { body }),
  );
}

export interface Member extends Principal {
  name: string;
  roleId: number;
  role: string;
}

/** One member a pair of user or group and role. */
export function membersOf(got: Schemas["GetGroupsAndUsersAssignedToWorkspaceResponse"]): Member[] {
  const users = new Map((got.usersAssignedDirectly ?? []).map((each) => [each.id, each]));
  const groups = new Map((got.groups ?? []).map((each) => [each.groupId, each]));
  return (got.assignments ?? []).flatMap(({ role, userRoleAssignments, groupRoleAssignments }) => {
    const shared = { roleId: role?.roleId ?? 0, role: role?.name ?? "" };
    return [
      ...(groupRoleAssignments ?? []).map((each) => ({
        kind: "group" as const,
        id: each.groupId ?? 0,
        name: groups.get(each.groupId)?.name ?? `group ${each.groupId}`,
        ...shared,
      })),
      ...(userRoleAssignments ?? []).map((each) => {
        const user = users.get(each.userId);
        return {
          kind: "user" as const,
          id: each.userId ?? 0,
          name: user?.displayName || user?.username || `user ${each.userId}`,
          ...shared,
        };
      }),
    ];
  });
}

export function useMembers(workspaceId: number) {
  return useQuery({
    queryKey: groupKeys.members(workspaceId),
    queryFn: async () =>
      membersOf(
        await answer(
          api.GET("/api/v1/roles/workspace/{workspace_id}", {
            params: { path: { workspace_id: workspaceId } },
          }),
        ),
      ),
    refetchInterval: 10_000,
  });
}
