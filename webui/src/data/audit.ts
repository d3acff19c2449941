/** The audit log: what users changed in the cluster itself: users, roles, workspaces, settings (`docs/ui-api.md`). */
import { useInfiniteQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

export interface AuditEntry {
  id: string;
  at: string;
  userId: number;
  username: string;
  /** The name of the route: `patch_user`. */
  operation: string;
  method: string;
  path: string;
  /** The first users that the request changed and their number, where the path names none. */
  details: string;
}

interface AuditPage {
  entries: AuditEntry[];
  /** `0` when there is nothing more. */
  next: string;
}

const PAGE = 500;

export function useAuditLog(userId: number) {
  return useInfiniteQuery({
    queryKey: ["audit", userId],
    queryFn: ({ pageParam, signal }) => readAuditLog(userId, pageParam, signal),
    initialPageParam: "0",
    getNextPageParam: (page) => (page.next === "0" ? undefined : page.next),
  });
}

function readAuditLog(userId: number, before: string, signal?: AbortSignal): Promise<AuditPage> {
  const query = new URLSearchParams({ limit: String(PAGE), before });
  if (userId) query.set("userId", String(userId));
  return request<AuditPage>("GET", `/api/ui/v1/audit?${query.toString()}`, signal ? { signal } : {});
}
