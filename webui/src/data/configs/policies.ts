/** Config policies: invariants and limits for the cluster or a workspace. */
import { useQuery } from "@tanstack/react-query";

import { answer, api } from "@/api/client";

export type Workload = "EXPERIMENT" | "NTSC";

/** `undefined` is the whole cluster. */
export type Scope = number | undefined;

const GLOBAL = "/api/v1/config-policies/global/{workload_type}" as const;
const OWN = "/api/v1/config-policies/workspaces/{workspace_id}/{workload_type}" as const;

export const policyKey = (scope: Scope, workload: Workload) =>
  ["policies", scope ?? "cluster", workload] as const;

export function usePolicies(scope: Scope, workload: Workload) {
  return useQuery({
    queryKey: policyKey(scope, workload),
    queryFn: async () => {
      const got =
        scope === undefined
          ? await answer(api.GET(GLOBAL, { params: { path: { workload_type: workload } } }))
          : await answer(
              api.GET(OWN, { params: { path: { workspace_id: scope, workload_type: workload } } }),
            );
      return (got.configPolicies ?? {}) as Record<string, unknown>;
    },
  });
}

export async function putPolicies(scope: Scope, workload: Workload, text: string): Promise<void> {
  const body = { configPolicies: text };
  if (scope === undefined)
    await answer(api.PUT(GLOBAL, { params: { path: { workload_type: workload } }, body }));
  else
    await answer(
      api.PUT(OWN, { params: { path: { workspace_id: scope, workload_type: workload } }, body }),
    );
}

export async function deletePolicies(scope: Scope, workload: Workload): Promise<void> {
  if (scope === undefined)
    await answer(api.DELETE(GLOBAL, { params: { path: { workload_type: workload } } }));
  else
    await answer(
      api.DELETE(OWN, { params: { path: { workspace_id: scope, workload_type: workload } } }),
    );
}
