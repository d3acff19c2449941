import { useOutletContext } from "react-router";

import { useAgents } from "@/data/cluster/queries";
import { Topology } from "@/features/cluster/Topology";
import { Empty, QueryView } from "@/ui/feedback/Feedback";

import type { PoolContext } from "./PoolPage";

export default function AgentsTab() {
  const { pool } = useOutletContext<PoolContext>();
  const query = useAgents();
  return (
    <QueryView query={query} what="the agents">
      {(agents) => {
        const own = agents.filter((agent) => agent.resourcePools?.includes(pool.name ?? ""));
        return own.length > 0 ? <Topology agents={own} /> : <Empty title="No agents in this pool" />;
      }}
    </QueryView>
  );
}
