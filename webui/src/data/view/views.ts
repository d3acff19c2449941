/**
 * Named views of a project's lists (`/api/ui/v1/projects/{id}/views`).
 *
 * A master without that route keeps private views in the user's settings.
 */
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { request } from "@/api/client";
import { ApiError } from "@/api/errors";

import { useSetting } from "../settings";
import { useSession } from "../session";
import type { ViewState } from "./url";

export type Scope = "private" | "project" | "workspace";

export interface View {
  id: number;
  name: string;
  scope: Scope;
  ownerName: string;
  isDefault: boolean;
  canEdit: boolean;
  /** Of the list that it belongs to, with the list's own state. */
  state: Partial<ViewState> & { list?: string };
  version: number;
}

export interface ViewChange {
  name?: string;
  scope?: Scope;
  isDefault?: boolean;
  state?: ViewState & { list: string };
}

const viewsKey = (projectId: number) => ["projects", projectId, "views"] as const;
const SETTINGS_PATH = "webui/views";

export function viewsQuery(projectId: number) {
  return queryOptions({
    queryKey: viewsKey(projectId),
    queryFn: () => readViews(projectId),
    staleTime: 15_000,
    retry: false,
  });
}

/** The views of one list (`runs`, `searches`) of a project, and the acts on them. */
export function useViews(projectId: number, list: string) {
  const cache = useQueryClient();
  const { user } = useSession();
  const [kept, keep] = useSetting<View[]>(SETTINGS_PATH, String(projectId), []);
  const key = viewsKey(projectId);
  const query = useQuery(viewsQuery(projectId));
  // `null` says that the master has no views of its own.
  const isRemote = query.data !== null;
  const all = query.data ?? (query.data === null ? kept : []);

  const refresh = () => cache.invalidateQueries({ queryKey: key });
  const create = useMutation({
    mutationFn: async (change: Required<ViewChange>) => {
      if (isRemote) {
        const path = `/api/ui/v1/projects/${projectId}/views`;
        return (await request<{ view: View }>("POST", path, { body: change })).view;
      }
      const id = 1 + Math.max(0, ...kept.map((each) => each.id));
      const view: View = { ...change, scope: "private", id, version: 1, canEdit: true, ownerName: user?.username ?? "" };
      await keep([...withoutDefault(kept, change.isDefault), view]);
      return view;
    },
    onSuccess: refresh,
  });
  const update = useMutation({
    mutationFn: async ({ view, change }: { view: View; change: ViewChange }) => {
      if (isRemote) {
        await request("PATCH", `/api/ui/v1/views/${view.id}`, { body: { version: view.version, ...change } });
        return;
      }
      const rest = withoutDefault(kept, change.isDefault);
      await keep(rest.map((each) => (each.id === view.id ? { ...each, ...change } : each)));
    },
    onSettled: refresh,
  });
  const remove = useMutation({
    mutationFn: async (view: View) => {
      if (isRemote) await request("DELETE", `/api/ui/v1/views/${view.id}`);
      else await keep(kept.filter((each) => each.id !== view.id));
    },
    onSettled: refresh,
  });
  return {
    views: all.filter((each) => (each.state.list ?? "runs") === list),
    isLoading: query.isPending,
    /** Shared views need the master's own routes. */
    canShare: isRemote,
    create: create.mutateAsync,
    update: (view: View, change: ViewChange) => update.mutateAsync({ view, change }),
    remove: remove.mutateAsync,
  };
}

/** The default that applies: the private one, then the project's, then the workspace's. */
export function defaultView(views: readonly View[]): View | undefined {
  const marked = views.filter((each) => each.isDefault);
  for (const scope of ["private", "project", "workspace"] as const) {
    const found = marked.find((each) => each.scope === scope);
    if (found) return found;
  }
  return undefined;
}

async function readViews(projectId: number): Promise<View[] | null> {
  try {
    return (await request<{ views: View[] }>("GET", `/api/ui/v1/projects/${projectId}/views`)).views;
  } catch (error) {
    if (error instanceof ApiError && [404, 405, 501].includes(error.status)) return null;
    throw error;
  }
}

function withoutDefault(views: readonly View[], isDefault: boolean | undefined): View[] {
  return views.map((each) => (isDefault ? { ...each, isDefault: false } : each));
}
