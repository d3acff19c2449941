/**
 * What the user may do, from `GET /api/v1/permissions/summary`.
 *
 * Without RBAC the summary holds what the basic rules give. The master checks every act again; this
 * only hides or disables what it would refuse.
 */
import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "../keys";
import { useSession } from "../session";

type Summary = Schemas["GetPermissionsSummaryResponse"];

export type Permission = `PERMISSION_TYPE_${string}`;

export interface Rights {
  isLoaded: boolean;
  /** May do this in a workspace; without `workspaceId`, everywhere. */
  may(permission: Permission, workspaceId?: number): boolean;
  /** May do one of these in a workspace; without `workspaceId`, everywhere. */
  mayAny(permissions: readonly Permission[], workspaceId?: number): boolean;
  /** May do this in at least one place. */
  mayAnywhere(permission: Permission): boolean;
}

export function useRights(): Rights {
  const { status, user } = useSession();
  const query = useQuery({
    queryKey: keys.permissions(),
    queryFn: () => answer(api.GET("/api/v1/permissions/summary", {})),
    enabled: status === "signed-in",
    staleTime: 60_000,
  });
  return rightsOf(query.data, Boolean(user?.admin));
}

export function rightsOf(summary: Summary | undefined, isAdmin: boolean): Rights {
  const everywhere = new Set<string>();
  const inWorkspace = new Map<string, Set<number>>();
  const names = new Map(
    (summary?.roles ?? []).map((role) => [
      role.roleId,
      (role.permissions ?? []).map((permission) => String(permission.id)),
    ]),
  );
  for (const assignment of summary?.assignments ?? []) {
    for (const name of names.get(assignment.roleId) ?? []) {
      if (assignment.scopeCluster) everywhere.add(name);
      const places = inWorkspace.get(name) ?? new Set<number>();
      (assignment.scopeWorkspaceIds ?? []).forEach((id) => places.add(id));
      inWorkspace.set(name, places);
    }
  }
  const may: Rights["may"] = (permission, workspaceId) =>
    isAdmin ||
    everywhere.has(permission) ||
    (workspaceId !== undefined && (inWorkspace.get(permission)?.has(workspaceId) ?? false));
  return {
    isLoaded: summary !== undefined,
    may,
    mayAny: (permissions, workspaceId) => permissions.some((permission) => may(permission, workspaceId)),
    mayAnywhere: (permission) =>
      isAdmin || everywhere.has(permission) || (inWorkspace.get(permission)?.size ?? 0) > 0,
  };
}
