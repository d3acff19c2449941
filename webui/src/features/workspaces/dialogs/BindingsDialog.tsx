import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "@/api/client";
import { keys } from "@/data/keys";
import { useWorkspaces, type Workspace } from "@/data/workspaces";
import { Checkbox } from "@/ui/field/Field";
import { QueryView } from "@/ui/feedback/Feedback";
import { FormDialog } from "@/ui/overlay/FormDialog";

const PATH = "/api/v1/resource-pools/{resource_pool_name}/workspace-bindings" as const;

/** The workspaces that a pool is bound to; a pool without a binding is open to all. */
export function BindingsDialog({ pool, onClose }: { pool: string; onClose(): void }) {
  const workspaces = useWorkspaces();
  const params = { path: { resource_pool_name: pool } };
  const stored = useQuery({
    queryKey: [...keys.pools(), pool, "bindings"],
    queryFn: async () =>
      (await answer(api.GET(PATH, { params: { ...params, query: { limit: -1 } } }))).workspaceIds ?? [],
  });
  const [chosen, setChosen] = useState<Set<number>>();
  const now = chosen ?? new Set(stored.data ?? []);
  const submit = async () => {
    const workspaceIds = [...now];
    if (workspaceIds.length > 0) await answer(api.PUT(PATH, { params, body: { workspaceIds, resourcePoolName: pool } }));
    else
      await answer(
        api.DELETE(PATH, { params, body: { workspaceIds: stored.data ?? [], resourcePoolName: pool } }),
      );
  };
  return (
    <FormDialog
      title={`Bind ${pool} to workspaces`}
      description="Only these workspaces may use the pool. A pool without a binding is open to all."
      action="Save"
      keys={[keys.pools(), keys.workspaces()]}
      refusal={chosen ? undefined : "Nothing has changed."}
      onSubmit={submit}
      onClose={onClose}
    >
      <QueryView query={workspaces} what="the workspaces">
        {(list: Workspace[]) => (
          <div role="group" aria-label="Workspaces" className="stack" style={{ gap: 2 }}>
            {list
              .filter((each) => !each.archived)
              .map((each) => (
                <Checkbox
                  key={each.id}
                  label={each.name}
                  checked={now.has(each.id ?? 0)}
                  onValue={(on) => {
                    const next = new Set(now);
                    if (on) next.add(each.id ?? 0);
                    else next.delete(each.id ?? 0);
                    setChosen(next);
                  }}
                />
              ))}
          </div>
        )}
      </QueryView>
    </FormDialog>
  );
}
