/** One workspace with its projects, and the acts on both. */
import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "../keys";
import { rules } from "../rules";
import type { Workspace } from "../workspaces";

export type Project = Schemas["Project"];

const POLL_MS = 10_000;

export function useWorkspace(id: number) {
  return useQuery({
    queryKey: keys.workspace(id),
    queryFn: async () =>
      (await answer(api.GET("/api/v1/workspaces/{id}", { params: { path: { id } } }))).workspace ?? {},
    refetchInterval: POLL_MS,
  });
}

export function useProjects(workspaceId: number, enabled = true) {
  return useQuery({
    queryKey: [...keys.projects(workspaceId), "all"],
    enabled,
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/workspaces/{id}/projects", {
            params: { path: { id: workspaceId }, query: { limit: -1 } },
          }),
        )
      ).projects ?? [],
    refetchInterval: POLL_MS,
  });
}

export async function createWorkspace(body: Schemas["PostWorkspaceRequest"]): Promise<Workspace> {
  return (await answer(api.POST("/api/v1/workspaces", { body }))).workspace ?? {};
}

export async function patchWorkspace(id: number, body: Schemas["PatchWorkspace"]): Promise<void> {
  await answer(api.PATCH("/api/v1/workspaces/{id}", { params: { path: { id } }, body }));
}

export async function actOnWorkspace(
  name: "archive" | "unarchive" | "pin" | "unpin",
  id: number,
): Promise<void> {
  const params = { params: { path: { id } } };
  switch (name) {
    case "archive":
      await answer(api.POST("/api/v1/workspaces/{id}/archive", params));
      return;
    case "unarchive":
      await answer(api.POST("/api/v1/workspaces/{id}/unarchive", params));
      return;
    case "pin":
      await answer(api.POST("/api/v1/workspaces/{id}/pin", params));
      return;
    case "unpin":
      await answer(api.POST("/api/v1/workspaces/{id}/unpin", params));
  }
}

/** How many experiments of a workspace have not ended; its deletion kills them. */
export async function countUnended(workspaceId: number): Promise<number> {
  const params = { params: { path: { id: workspaceId }, query: { limit: -1 } } };
  const { projects = [] } = await answer(api.GET("/api/v1/workspaces/{id}/projects", params));
  const totals = await Promise.all(
    projects
      .filter((project) => (project.numExperiments ?? 0) > 0)
      .map(async (project) => {
        const query = { projectId: project.id, states: rules.states.unended.map((state) => `STATE_${state}` as const), limit: 1 };
        const page = await answer(api.GET("/api/v1/experiments", { params: { query } }));
        return page.pagination?.total ?? 0;
      }),
  );
  return totals.reduce((sum, total) => sum + total, 0);
}

export async function deleteWorkspace(id: number): Promise<void> {
  await answer(api.DELETE("/api/v1/workspaces/{id}", { params: { path: { id } } }));
}

export async function createProject(
  workspaceId: number,
  body: Schemas["PostProjectRequest"],
): Promise<Project> {
  return (
    (
      await answer(
        api.POST("/api/v1/workspaces/{workspace_id}/projects", {
          params: { path: { workspace_id: workspaceId } },
          body,
        }),
      )
    ).project ?? {}
  );
}

export async function patchProject(id: number, body: Schemas["PatchProject"]): Promise<void> {
  await answer(api.PATCH("/api/v1/projects/{id}", { params: { path: { id } }, body }));
}

export async function moveProject(id: number, workspaceId: number): Promise<void> {
  await answer(
    api.POST("/api/v1/projects/{project_id}/move", {
      params: { path: { project_id: id } },
      body: { destinationWorkspaceId: workspaceId },
    }),
  );
}

export async function archiveProject(id: number, archived: boolean): Promise<void> {
  const params = { params: { path: { id } } };
  await answer(
    archived
      ? api.POST("/api/v1/projects/{id}/archive", params)
      : api.POST("/api/v1/projects/{id}/unarchive", params),
  );
}

export async function deleteProject(id: number): Promise<void> {
  await answer(api.DELETE("/api/v1/projects/{id}", { params: { path: { id } } }));
}
