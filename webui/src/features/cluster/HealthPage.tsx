import { Link } from "react-router";

import { useMasterHealth, useUsageToday, type MasterHealth } from "@/data/cluster/health";
import { useAgents, usePools, type Agent, type Pool } from "@/data/cluster/queries";
import { plural } from "@/data/format/numbers";
import { formatDuration, formatHours } from "@/data/format/times";
import { useMaster } from "@/data/master";
import { QueryView } from "@/ui/feedback/Feedback";
import { Card, Cards, Facts, PlainTable } from "@/ui/layout/Card";
import { Page } from "@/ui/layout/Page";
import { StateBadge } from "@/ui/state/StateBadge";

import { clusterTabs } from "./clusterTabs";

/** Of the users with the most slot hours. */
const MAX_USERS = 20;

/** `/clusters/health`: what an administrator looks at first. */
export default function HealthPage() {
  const health = useMasterHealth();
  const agents = useAgents();
  const pools = usePools();
  const usage = useUsageToday();
  return (
    <Page name="Health" crumbs={[{ label: "Cluster", to: "/clusters" }]} tabs={clusterTabs}>
      <div className="stack" style={{ gap: 16 }}>
        <Cards least={400}>
          <Card title="Master">
            <QueryView query={health} what="the health of the master">
              {(found) => <MasterFacts health={found} />}
            </QueryView>
          </Card>
          <Card title="Agents" flush={(agents.data ?? []).some(takesNoWork)}>
            <QueryView query={agents} what="the agents">
              {(list) => <Agents agents={list} />}
            </QueryView>
          </Card>
        </Cards>
        <Card title="Queues" flush>
          <QueryView query={pools} what="the resource pools">
            {(list) => <Queues pools={list} />}
          </QueryView>
        </Card>
        {usage.data !== null && (
          <Card title="Slot hours today (UTC)" flush={Boolean(usage.data?.length)}>
            <QueryView query={usage} what="the usage of today">
              {(entries) => <UsageToday entries={entries ?? []} />}
            </QueryView>
          </Card>
        )}
      </div>
    </Page>
  );
}

function MasterFacts({ health }: { health: MasterHealth }) {
  const { version, clusterName, clusterId } = useMaster();
  const { effects } = health;
  return (
    <Facts
      facts={[
        ["State", <Works key="state" isGood={health.status === "up"} word={health.status} />],
        ["Database", <Works key="database" isGood={health.database === "up"} word={health.database} />],
        effects && [
          "Oldest effect",
          <span key="effects" className="row" title="The oldest work of the master that waits for nothing">
            <Works isGood={effects.status === "up"} word={effects.status === "up" ? "in time" : "late"} />
            {formatDuration(effects.oldest_age_s)}
          </span>,
        ],
        ["Version", version],
        ["Cluster", clusterName || clusterId],
      ]}
    />
  );
}

function Works({ isGood, word }: { isGood: boolean; word: string }) {
  return <StateBadge plain state={isGood ? "COMPLETED" : "ERROR"} label={word} />;
}

function takesNoWork(agent: Agent): boolean {
  return !agent.enabled || Boolean(agent.draining);
}

function Agents({ agents }: { agents: Agent[] }) {
  const closed = agents.filter(takesNoWork);
  if (closed.length === 0)
    return <p>{agents.length === 0 ? "No agent is connected." : `${plural(agents.length, "agent")}, all take work.`}</p>;
  return (
    <PlainTable label="Agents that take no work" columns={[`${closed.length} of ${plural(agents.length, "agent")} take no work`, "Pools", "State"]}>
      {closed.map((agent) => (
        <tr key={agent.id}>
          <td>
            <Link to={`/agents/${encodeURIComponent(agent.id ?? "")}`}>{agent.id}</Link>
          </td>
          <td>{agent.resourcePools?.join(", ")}</td>
          <td>{agent.draining ? "lost, or draining" : "disabled"}</td>
        </tr>
      ))}
    </PlainTable>
  );
}

function Queues({ pools }: { pools: Pool[] }) {
  return (
    <PlainTable label="Queues" columns={["Pool", "Waiting", "Running", "Slots in use", "Agents"]}>
      {pools.map((pool) => (
        <tr key={pool.name}>
          <td>
            <Link to={`/resourcepool/${encodeURIComponent(pool.name ?? "")}/queue`}>{pool.name}</Link>
          </td>
          <td className="number">{pool.stats?.queuedCount ?? 0}</td>
          <td className="number">{pool.stats?.scheduledCount ?? 0}</td>
          <td className="number">
            {pool.slotsUsed ?? 0} of {pool.slotsAvailable ?? 0}
          </td>
          <td className="number">{pool.numAgents ?? 0}</td>
        </tr>
      ))}
    </PlainTable>
  );
}

function UsageToday({ entries }: { entries: { key?: string; slotHours?: number }[] }) {
  if (entries.length === 0) return <p>Nothing has used a slot today.</p>;
  const total = entries.reduce((sum, { slotHours = 0 }) => sum + slotHours, 0);
  return (
    <PlainTable label="Slot hours today" columns={["User", "Slot hours"]}>
      <tr>
        <td>All</td>
        <td className="number">{formatHours(total)}</td>
      </tr>
      {entries.slice(0, MAX_USERS).map(({ key, slotHours = 0 }) => (
        <tr key={key}>
          <td>
            <bdi>{key}</bdi>
          </td>
          <td className="number">{formatHours(slotHours)}</td>
        </tr>
      ))}
    </PlainTable>
  );
}
