/** Templates: parts of configurations that submissions start from. */
import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

export type Template = Schemas["Template"];

export const templatesKey = ["templates"] as const;

/** All templates that the caller sees, or those of one workspace. */
export function useTemplates(workspaceId?: number) {
  return useQuery({
    queryKey: [...templatesKey, workspaceId ?? 0],
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/templates", {
            params: { query: { limit: -1, ...(workspaceId ? { workspaceIds: [workspaceId] } : {}) } },
          }),
        )
      ).templates ?? [],
  });
}

export async function createTemplate(name: string, workspaceId: number, config: Record<string, unknown>) {
  await answer(
    api.POST("/api/v1/templates/{template.name}", {
      params: { path: { "template.name": name } },
      body: { name, workspaceId, config },
    }),
  );
}

export async function replaceConfig(name: string, config: Record<string, unknown>) {
  await answer(
    api.PATCH("/api/v1/templates/{template_name}", {
      params: { path: { template_name: name } },
      body: config,
    }),
  );
}

export async function renameTemplate(oldName: string, newName: string) {
  await answer(api.PATCH("/api/v1/template/rename", { body: { oldName, newName } }));
}

export async function deleteTemplate(name: string) {
  await answer(
    api.DELETE("/api/v1/templates/{template_name}", { params: { path: { template_name: name } } }),
  );
}
