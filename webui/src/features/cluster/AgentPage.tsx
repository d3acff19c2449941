import { useQueryClient } from "@tanstack/react-query";
import { useParams } from "react-router";

import { switchAgent, switchSlot } from "@/data/cluster/acts";
import { useAgentHistory } from "@/data/cluster/history";
import { enumWord, slotsOf, useAgents, slotUse, type Agent } from "@/data/cluster/queries";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { Button } from "@/ui/button/Button";
import { Loading } from "@/ui/feedback/Feedback";
import { toast } from "@/ui/feedback/toast";
import { ActsHead, Card, Facts, PlainTable } from "@/ui/layout/Card";
import { Page } from "@/ui/layout/Page";
import { MissingPage, PageQuery } from "@/ui/layout/PageQuery";
import { confirm } from "@/ui/overlay/confirm";
import { StateBadge } from "@/ui/state/StateBadge";
import { Time } from "@/ui/text/Time";

import { AgentHealth } from "./AgentHealth";

/** `/agents/:id`: one machine, its slots, and the switches to drain or disable it. */
export default function AgentPage() {
  const id = useParams()["agentId"] ?? "";
  const query = useAgents();
  return (
    <PageQuery query={query} what={`agent ${id}`} name={`Agent ${id}`}>
      {(agents) => {
        const agent = agents.find((each) => each.id === id);
        return agent ? <AgentView agent={agent} /> : <GoneAgent id={id} />;
      }}
    </PageQuery>
  );
}

/** An agent that was here: its record outlives it. */
function GoneAgent({ id }: { id: string }) {
  const { data, isPending } = useAgentHistory(id, 24);
  if (isPending) return <Page name={`Agent ${id}`}><Loading what={`agent ${id}`} /></Page>;
  if (!data) return <MissingPage what={`agent ${id}`} />;
  return (
    <Page
      name={`Agent ${id}`}
      crumbs={[{ label: "Cluster", to: "/clusters" }, { label: "Agents" }]}
      badge={<StateBadge state="TERMINATED" label="Not connected" />}
    >
      <AgentHealth id={id} />
    </Page>
  );
}

const SLOT_STATES = { free: "QUEUED", busy: "RUNNING", draining: "STOPPING", disabled: "TERMINATED" };

function AgentView({ agent }: { agent: Agent }) {
  const acts = useAgentActs(agent.id ?? "");
  const { may } = useRights();
  const mayUpdate = may("PERMISSION_TYPE_UPDATE_AGENTS");
  const denied = mayUpdate ? undefined : "This needs the permission to update agents.";
  const slots = slotsOf(agent);
  return (
    <Page
      name={`Agent ${agent.id}`}
      crumbs={[{ label: "Cluster", to: "/clusters" }, { label: "Agents" }]}
      badge={
        <StateBadge
          state={agent.enabled ? "RUNNING" : agent.draining ? "STOPPING" : "TERMINATED"}
          label={agent.enabled ? "Enabled" : agent.draining ? "Draining" : "Disabled"}
        />
      }
      actions={
        agent.enabled ? (
          <>
            <Button disabledReason={denied} onClick={() => void acts.drain()}>
              Drain
            </Button>
            <Button look="danger" disabledReason={denied} onClick={() => void acts.disable()}>
              Disable
            </Button>
          </>
        ) : (
          <Button disabledReason={denied} onClick={() => void acts.enable()}>
            Enable
          </Button>
        )
      }
    >
      <div className="stack" style={{ gap: 16 }}>
        <Card title="Facts">
          <Facts
            facts={[
              ["Resource pools", agent.resourcePools?.join(", ")],
              ["Addresses", agent.addresses?.join(", ")],
              ["Version", agent.version],
              ["Connected", <Time key="time" at={agent.registeredTime} />],
              ["Containers", String(Object.keys(agent.containers ?? {}).length)],
            ]}
          />
        </Card>
        <AgentHealth id={agent.id ?? ""} />
        <Card title="Slots" flush>
          <PlainTable label="Slots" columns={["Slot", "State", "Type", "Device", "Container", <ActsHead key="acts" />]}>
            {slots.map((slot) => {
              const use = slotUse(slot, agent);
              return (
                <tr key={slot.id}>
                  <td className="number">{slot.id}</td>
                  <td>
                    <StateBadge plain state={SLOT_STATES[use]} label={use === "busy" ? "in use" : use} />
                  </td>
                  <td>{enumWord(slot.device?.type, /^TYPE_/)}</td>
                  <td>{slot.device?.brand}</td>
                  <td className="mono">{slot.container?.id ?? "–"}</td>
                  <td>
                    <Button
                      small
                      disabledReason={denied}
                      onClick={() => void acts.slot(slot.id ?? "", !slot.enabled)}
                    >
                      {slot.enabled ? "Disable" : "Enable"}
                    </Button>
                  </td>
                </tr>
              );
            })}
          </PlainTable>
        </Card>
      </div>
    </Page>
  );
}

function useAgentActs(id: string) {
  const cache = useQueryClient();
  const run = async (act: () => Promise<void>, done: string) => {
    try {
      await act();
      toast.done(done);
    } catch (error) {
      toast.failed(`Agent ${id}`, error);
    }
    await cache.invalidateQueries({ queryKey: keys.agents() });
  };
  return {
    enable: () => run(() => switchAgent(id, true), `Agent ${id} takes work again`),
    drain: () =>
      run(() => switchAgent(id, false, true), `Agent ${id} finishes its work and takes no new`),
    disable: async () => {
      const yes = await confirm({
        title: `Disable agent ${id}?`,
        body: "What runs there ends now. Drain lets it finish first.",
        action: "Disable",
        danger: true,
      });
      if (yes) await run(() => switchAgent(id, false), `Agent ${id} is disabled`);
    },
    slot: (slot: string, enable: boolean) =>
      run(() => switchSlot(id, slot, enable), `Slot ${slot} is ${enable ? "enabled" : "disabled"}`),
  };
}
