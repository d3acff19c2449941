/** The model registry: models and their versions, refreshed by the `models` topic. */
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

import { keys } from "../keys";
import { usePollInterval, useTopic } from "../live";

export type Model = Schemas["Model"];
export type Version = Schemas["ModelVersion"];

const POLL_MS = 10_000;

const MODEL = "/api/v1/models/{model_name}" as const;
const VERSION = "/api/v1/models/{model_name}/versions/{model_version_num}" as const;

const pathOf = (model: string) => ({ path: { model_name: model } });
const versionPath = (model: string, version: number) => ({
  path: { model_name: model, model_version_num: version },
});

/** Everything below `keys.models()` is asked again when a model changes. */
function useModelsTopic(): number | false {
  const cache = useQueryClient();
  useTopic("models", () => void cache.invalidateQueries({ queryKey: keys.models() }));
  return usePollInterval(POLL_MS);
}

export function useModels(workspaceId?: number) {
  const poll = useModelsTopic();
  return useQuery({
    queryKey: [...keys.models(), "list", workspaceId ?? 0],
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/models", {
            params: { query: { limit: -1, ...(workspaceId ? { workspaceIds: [workspaceId] } : {}) } },
          }),
        )
      ).models ?? [],
    refetchInterval: poll,
  });
}

/** A model, by its name or its number, with all its versions, the newest first. */
export function useModel(name: string) {
  const poll = useModelsTopic();
  return useQuery({
    queryKey: keys.model(name),
    queryFn: async () => {
      const got = await answer(
        api.GET("/api/v1/models/{model_name}/versions", {
          params: { ...pathOf(name), query: { limit: -1 } },
        }),
      );
      const versions = [...(got.modelVersions ?? [])];
      versions.sort((a, b) => (b.version ?? 0) - (a.version ?? 0));
      return { model: got.model ?? {}, versions };
    },
    refetchInterval: poll,
  });
}

export function useVersion(name: string, version: number) {
  const poll = useModelsTopic();
  return useQuery({
    queryKey: [...keys.model(name), "versions", version],
    queryFn: () => readVersion(name, version),
    refetchInterval: poll,
  });
}

export async function readModel(name: string): Promise<Model> {
  return (await answer(api.GET(MODEL, { params: pathOf(name) }))).model ?? {};
}

export async function readVersion(name: string, version: number): Promise<Version> {
  return (await answer(api.GET(VERSION, { params: versionPath(name, version) }))).modelVersion ?? {};
}

export async function createModel(body: Schemas["PostModelRequest"]): Promise<string> {
  return (await answer(api.POST("/api/v1/models", { body }))).model?.name ?? "";
}

export async function patchModel(name: string, body: Schemas["PatchModel"]): Promise<void> {
  await answer(api.PATCH(MODEL, { params: pathOf(name), body }));
}

export async function moveModel(name: string, workspaceId: number): Promise<void> {
  await answer(
    api.POST("/api/v1/models/{model_name}/move", {
      params: pathOf(name),
      body: { destinationWorkspaceId: workspaceId },
    }),
  );
}

export async function archiveModel(name: string, archived: boolean): Promise<void> {
  await answer(
    archived
      ? api.POST("/api/v1/models/{model_name}/archive", { params: pathOf(name) })
      : api.POST("/api/v1/models/{model_name}/unarchive", { params: pathOf(name) }),
  );
}

export async function deleteModel(name: string): Promise<void> {
  await answer(api.DELETE(MODEL, { params: pathOf(name) }));
}

export async function patchVersion(
  name: string,
  version: number,
  body: Schemas["PatchModelVersion"],
): Promise<void> {
  await answer(api.PATCH(VERSION, { params: versionPath(name, version), body }));
}

export async function deleteVersion(name: string, version: number): Promise<void> {
  await answer(api.DELETE(VERSION, { params: versionPath(name, version) }));
}

export function modelPath(name: string | undefined): string {
  return `/models/${encodeURIComponent(name ?? "")}`;
}

export function versionName(version: Version): string {
  return version.name ? `${version.name} (v${version.version})` : `Version ${version.version}`;
}
