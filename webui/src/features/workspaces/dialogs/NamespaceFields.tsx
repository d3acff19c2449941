import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";
import { Checkbox, TextField } from "@/ui/field/Field";

export interface NamespaceDraft {
  namespace: string;
  auto: boolean;
  quota: string;
}

/** The namespace of each Kubernetes cluster in which tasks of the workspace run. */
export function NamespaceFields({
  managers,
  workspaceId,
  value,
  onValue,
}: {
  managers: string[];
  workspaceId: number | undefined;
  value: Record<string, NamespaceDraft>;
  onValue(next: Record<string, NamespaceDraft>): void;
}) {
  const bindings = useBindings(workspaceId);
  return (
    <>
      {managers.map((manager) => {
        const stored = bindings[manager];
        const now = value[manager] ?? {
          namespace: stored?.namespace ?? "",
          auto: stored?.autoCreateNamespace ?? false,
          quota: "",
        };
        const change = (part: Partial<NamespaceDraft>) => onValue({ ...value, [manager]: { ...now, ...part } });
        return (
          <fieldset key={manager} className="stack" style={{ margin: 0, padding: 12, border: "1px solid var(--line-1)", borderRadius: "var(--radius)" }}>
            <legend className="muted">Kubernetes cluster {manager}</legend>
            <Checkbox label="Create a namespace for the workspace" checked={now.auto} onValue={(auto) => change({ auto })} />
            {!now.auto && (
              <TextField label="Namespace" hint="Empty: the default namespace of the cluster" value={now.namespace} onChange={(event) => change({ namespace: event.target.value })} />
            )}
            {now.auto && (
              <TextField label="Most slots (quota)" inputMode="numeric" hint="Empty: no limit" value={now.quota} onChange={(event) => change({ quota: event.target.value })} />
            )}
          </fieldset>
        );
      })}
    </>
  );
}

export function namespaceMeta(drafts: Record<string, NamespaceDraft>): Record<string, Schemas["WorkspaceNamespaceMeta"]> {
  return Object.fromEntries(
    Object.entries(drafts).map(([clusterName, draft]) => [
      clusterName,
      {
        clusterName,
        autoCreateNamespace: draft.auto,
        ...(draft.auto ? {} : { namespace: draft.namespace.trim() }),
        ...(draft.auto && /^\d+$/.test(draft.quota) ? { resourceQuota: Number(draft.quota) } : {}),
      },
    ]),
  );
}

function useBindings(id: number | undefined): Record<string, Schemas["WorkspaceNamespaceBinding"]> {
  const found = useQuery({
    queryKey: ["workspaces", id, "namespaces"],
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/workspaces/{id}/list-namespace-bindings", { params: { path: { id: id ?? 0 } } }),
        )
      ).namespaceBindings ?? {},
    enabled: id !== undefined,
  }).data;
  return (found ?? {}) as Record<string, Schemas["WorkspaceNamespaceBinding"]>;
}
