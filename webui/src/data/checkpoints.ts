/** Checkpoints of experiments and trials. */
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { answer, api, request, type Schemas } from "@/api/client";
import { ApiError } from "@/api/errors";

import { keys } from "./keys";
import { usePollInterval, useTopic } from "./live";

export type Checkpoint = Schemas["Checkpoint"];

export function useCheckpoints(of: "experiment" | "trial", id: number) {
  return useQuery({
    queryKey: ["checkpoints", of, id],
    queryFn: async () => {
      const query = { limit: 500 };
      const got =
        of === "experiment"
          ? await answer(
              api.GET("/api/v1/experiments/{id}/checkpoints", { params: { path: { id }, query } }),
            )
          : await answer(
              api.GET("/api/v1/trials/{id}/checkpoints", { params: { path: { id }, query } }),
            );
      return got.checkpoints ?? [];
    },
    refetchInterval: 10_000,
  });
}

export interface Registration {
  modelId: number;
  modelName: string;
  version: number;
  name: string;
}

/** The versions of models that a checkpoint is; none on a master that lacks the route. */
export function useRegistrations(uuid: string) {
  const cache = useQueryClient();
  useTopic("models", () => void cache.invalidateQueries({ queryKey: keys.models() }));
  return useQuery({
    queryKey: [...keys.models(), "of checkpoint", uuid],
    queryFn: async () => {
      try {
        const path = `/api/ui/v1/checkpoints/${encodeURIComponent(uuid)}/registrations`;
        return (await request<{ registrations: Registration[] }>("GET", path)).registrations;
      } catch (error) {
        if (error instanceof ApiError && (error.isNotFound || error.status === 501)) return [];
        throw error;
      }
    },
    refetchInterval: usePollInterval(10_000),
  });
}

export function sizeOf(checkpoint: Checkpoint): number {
  return Object.values(checkpoint.resources ?? {}).reduce((sum, size) => sum + Number(size), 0);
}

export function batchesOf(checkpoint: Checkpoint): number | undefined {
  const steps = (checkpoint.metadata as { steps_completed?: unknown } | undefined)?.steps_completed;
  return typeof steps === "number" ? steps : undefined;
}

export async function deleteCheckpoints(uuids: string[]): Promise<void> {
  await answer(api.DELETE("/api/v1/checkpoints", { body: { checkpointUuids: uuids } }));
}

export async function registerCheckpoint(model: string, uuid: string, name: string): Promise<number> {
  const got = await answer(
    api.POST("/api/v1/models/{model_name}/versions", {
      params: { path: { model_name: model } },
      body: { checkpointUuid: uuid, ...(name ? { name } : {}) },
    }),
  );
  return got.modelVersion?.version ?? 0;
}
