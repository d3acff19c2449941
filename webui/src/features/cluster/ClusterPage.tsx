import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { answer, api } from "@/api/client";
import { enumWord, slotsOf, useAgents, slotUse, usePools, type Agent, type Pool } from "@/data/cluster/queries";
import { plural } from "@/data/format/numbers";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Card, Cards, Facts, Stat } from "@/ui/layout/Card";
import { Page } from "@/ui/layout/Page";

import { clusterTabs } from "./clusterTabs";
import { Meter, Topology } from "./Topology";

/** `/clusters`: totals, a card a pool, the topology of all agents. */
export default function ClusterPage() {
  const agents = useAgents();
  const pools = usePools();
  return (
    <Page name="Cluster" tabs={clusterTabs}>
      <div className="stack" style={{ gap: 16 }}>
        <QueryView query={agents} what="the agents">
          {(list) => <Totals agents={list} />}
        </QueryView>
        <QueryView query={pools} what="the resource pools">
          {(list) => (
            <Cards least={320}>
              {list.map((pool) => (
                <PoolCard key={pool.name} pool={pool} />
              ))}
            </Cards>
          )}
        </QueryView>
        <Card title="Agents">
          {agents.data?.length === 0 ? (
            <Empty title="No agents" command="determined-agent --master-host HOST --join-token-file FILE">
              Nothing can run until an agent connects. `det -u admin agent token` prints the token.
            </Empty>
          ) : (
            <Topology agents={agents.data ?? []} />
          )}
        </Card>
      </div>
    </Page>
  );
}

function Totals({ agents }: { agents: Agent[] }) {
  const uses = agents.flatMap((agent) => slotsOf(agent).map((slot) => slotUse(slot, agent)));
  const busy = uses.filter((use) => use === "busy" || use === "draining").length;
  const tasks = useQuery({
    queryKey: ["task-count"],
    queryFn: () => answer(api.GET("/api/v1/tasks/count", {})),
    refetchInterval: 10_000,
  }).data;
  const interactive =
    (tasks?.commands ?? 0) + (tasks?.notebooks ?? 0) + (tasks?.shells ?? 0) + (tasks?.tensorboards ?? 0);
  return (
    <Card>
      <div className="stack">
        <div className="row" style={{ gap: "12px 40px" }}>
          <Stat label="Slots in use">
            {busy} / {uses.length}
          </Stat>
          <Stat label="Agents">{agents.length}</Stat>
          <Stat label="Disabled slots">{uses.filter((use) => use === "disabled").length}</Stat>
          <Stat label="Interactive tasks">{interactive}</Stat>
        </div>
        <Meter used={busy} total={uses.length} label="Slots in use" />
      </div>
    </Card>
  );
}

function PoolCard({ pool }: { pool: Pool }) {
  const used = pool.slotsUsed ?? 0;
  const total = pool.slotsAvailable ?? 0;
  const to = `/resourcepool/${encodeURIComponent(pool.name ?? "")}`;
  return (
    <Card title={<Link to={to}>{pool.name}</Link>} actions={<Defaults pool={pool} />}>
      <div className="stack">
        <Meter used={used} total={total} label={`Slots in use in ${pool.name}`} />
        <Facts
          facts={[
            ["Slots", `${used} of ${total} ${enumWord(pool.slotType, /^TYPE_/)} in use`],
            ["Agents", plural(pool.numAgents ?? 0, "agent")],
            ["Queue", `${pool.stats?.queuedCount ?? 0} waiting, ${pool.stats?.scheduledCount ?? 0} running`],
            ["Scheduler", enumWord(pool.schedulerType, /^SCHEDULER_TYPE_/)],
            pool.type !== "RESOURCE_POOL_TYPE_STATIC" && [
              "Machines",
              `${pool.minAgents} to ${pool.maxAgents} of ${pool.instanceType || enumWord(pool.type, /^RESOURCE_POOL_TYPE_/)}`,
            ],
            pool.description ? ["Description", pool.description] : undefined,
          ]}
        />
      </div>
    </Card>
  );
}

function Defaults({ pool }: { pool: Pool }) {
  const words = [pool.defaultComputePool && "default", pool.defaultAuxPool && "default for tasks without slots"].filter(Boolean);
  return words.length > 0 ? <span className="hint">{words[0]}</span> : null;
}
