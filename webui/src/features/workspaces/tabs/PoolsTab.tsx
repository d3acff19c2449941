import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { answer, api } from "@/api/client";
import { usePools, type Pool } from "@/data/cluster/queries";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { patchWorkspace } from "@/data/workspace/queries";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Select } from "@/ui/field/Field";
import { Card, PlainTable } from "@/ui/layout/Card";

import { BindingsDialog } from "../dialogs/BindingsDialog";
import { useWorkspaceContext } from "../WorkspacePage";

/** Pools that the workspace may use, its defaults, and the pools that are bound to workspaces. */
export default function PoolsTab() {
  const { id } = useWorkspaceContext();
  const query = useQuery({
    queryKey: [...keys.workspace(id), "pools"],
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/workspaces/{workspace_id}/available-resource-pools", {
            params: { path: { workspace_id: id }, query: { limit: -1 } },
          }),
        )
      ).resourcePools ?? [],
    refetchInterval: 10_000,
  });
  return (
    <QueryView query={query} what="the resource pools">
      {(available) =>
        available.length === 0 ? (
          <Empty title="No resource pools">All pools of the cluster are bound to other workspaces.</Empty>
        ) : (
          <div className="stack" style={{ gap: 16 }}>
            <Defaults available={available} />
            <PoolTable available={available} />
          </div>
        )
      }
    </QueryView>
  );
}

function Defaults({ available }: { available: string[] }) {
  const { id, workspace } = useWorkspaceContext();
  const { may } = useRights();
  const act = useAct();
  const refused = !may("PERMISSION_TYPE_SET_WORKSPACE_DEFAULT_RESOURCE_POOL", id) || workspace.archived;
  const options = [{ value: "", label: "The default of the cluster" }, ...available.map((name) => ({ value: name, label: name }))];
  const save = (field: "defaultComputePool" | "defaultAuxPool", value: string) =>
    void act(() => patchWorkspace(id, { [field]: value }), {
      done: "Saved the default pool",
      failed: "The default pool stays as it is",
      undo: () => patchWorkspace(id, { [field]: workspace[field] ?? "" }),
      keys: [keys.workspaces()],
    });
  return (
    <Card title="Defaults of the workspace">
      <div className="row" style={{ gap: 16, alignItems: "end" }}>
        <Select label="For work with slots" disabled={refused} options={options} value={workspace.defaultComputePool ?? ""} onValue={(value) => save("defaultComputePool", value)} />
        <Select label="For work without slots" disabled={refused} options={options} value={workspace.defaultAuxPool ?? ""} onValue={(value) => save("defaultAuxPool", value)} />
      </div>
    </Card>
  );
}

function PoolTable({ available }: { available: string[] }) {
  const { workspace } = useWorkspaceContext();
  const { may } = useRights();
  const pools = new Map((usePools().data ?? []).map((each) => [each.name, each]));
  const [bound, setBound] = useState<string>();
  const binds = may("PERMISSION_TYPE_MODIFY_RP_WORKSPACE_BINDINGS");
  return (
    <Card title="Pools that the workspace may use" flush>
      <PlainTable label="Resource pools" columns={["Pool", "Kind of slots", "Slots in use", "Default for", ...(binds ? ["Bindings"] : [])]}>
        {available.map((name) => (
          <tr key={name}>
            <td>
              <Link to={`/resourcepool/${encodeURIComponent(name)}`}>{name}</Link>
            </td>
            <td>{slotWord(pools.get(name))}</td>
            <td className="number">
              {pools.has(name) ? `${pools.get(name)?.slotsUsed ?? 0} of ${pools.get(name)?.slotsAvailable ?? 0}` : "–"}
            </td>
            <td style={{ whiteSpace: "nowrap" }}>{defaultsOf(name, pools.get(name), workspace.defaultComputePool, workspace.defaultAuxPool)}</td>
            {binds && (
              <td>
                <Button
                  small
                  icon="link"
                  disabledReason={
                    pools.get(name)?.defaultComputePool || pools.get(name)?.defaultAuxPool
                      ? "A default pool of the cluster is open to all workspaces."
                      : undefined
                  }
                  onClick={() => setBound(name)}
                >
                  Bind …
                </Button>
              </td>
            )}
          </tr>
        ))}
      </PlainTable>
      {bound && <BindingsDialog pool={bound} onClose={() => setBound(undefined)} />}
    </Card>
  );
}

function slotWord(pool: Pool | undefined): string {
  return (pool?.slotType ?? "").replace("TYPE_", "") || "–";
}

function defaultsOf(name: string, pool: Pool | undefined, compute?: string, aux?: string): string {
  const isCompute = compute ? compute === name : pool?.defaultComputePool;
  const isAux = aux ? aux === name : pool?.defaultAuxPool;
  return [isCompute && "work with slots", isAux && "work without slots"].filter(Boolean).join(", ");
}
