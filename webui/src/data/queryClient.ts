/** The cache of answers. Live frames patch it by key (`data/keys`). */
import { QueryClient } from "@tanstack/react-query";

import { ApiError } from "@/api/errors";

import { boot, type Boot } from "./boot";
import { keys } from "./keys";

/** Milliseconds between polls where no live topic covers a view. */
export const POLL_MS = 5000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: false,
      // A refusal stays a refusal; only a master that is away is asked again.
      retry: (count, error) =>
        error instanceof ApiError && (error.isUnreachable || error.status >= 502) && count < 5,
      retryDelay: (attempt) => Math.min(1000 * 2 ** attempt, 15_000),
    },
    mutations: { retry: false },
  },
});

/**
 * The answers that came with the page. They are answers like others: signing in as another user
 * clears them.
 */
export function takeBoot(cache: QueryClient, { master, permissions, settings, workspaces, users, project }: Boot): void {
  if (master) cache.setQueryData(keys.master(), master);
  if (permissions) cache.setQueryData(keys.permissions(), permissions);
  if (settings) cache.setQueryData(keys.settings(), settings);
  if (workspaces) cache.setQueryData(keys.workspaces(), workspaces);
  if (users) cache.setQueryData(keys.users(), users);
  if (project?.id) cache.setQueryData(keys.project(project.id), project);
}

takeBoot(queryClient, boot);
