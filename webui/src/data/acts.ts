/** What people changed in the cluster itself: users, roles, workspaces, settings (`docs/ui-api.md`). */
import { useInfiniteQuery } from "@tanstack/react-query";

import { request } from "@/api/client";

export interface Act {
  id: string;
  at: string;
  userId: number;
  username: string;
  /** The name of the route: `patch_user`. */
  operation: string;
  method: string;
  path: string;
}

interface ActPage {
  acts: Act[];
  /** `0` when there is nothing more. */
  next: string;
}

const PAGE = 500;

export function useActs(userId: number) {
  return useInfiniteQuery({
    queryKey: ["acts", userId],
    queryFn: ({ pageParam, signal }) => readActs(userId, pageParam, signal),
    initialPageParam: "0",
    getNextPageParam: (page) => (page.next === "0" ? undefined : page.next),
  });
}

function readActs(userId: number, before: string, signal?: AbortSignal): Promise<ActPage> {
  const query = new URLSearchParams({ limit: String(PAGE), before });
  if (userId) query.set("userId", String(userId));
  return request<ActPage>("GET", `/api/ui/v1/acts?${query.toString()}`, signal ? { signal } : {});
}
