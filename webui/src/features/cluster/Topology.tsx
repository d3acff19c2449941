import { Link } from "react-router";

import { slotsOf, slotUse, type Agent, type SlotUse } from "@/data/cluster/queries";
import { plural } from "@/data/format/numbers";

import styles from "./Topology.module.css";

const WORDS: Record<SlotUse, string> = {
  free: "free",
  busy: "in use",
  draining: "draining",
  disabled: "disabled",
};
/** From here on the tiles are small. */
const DENSE_FROM = 60;

/** A tile an agent, a square a slot. */
export function Topology({ agents }: { agents: Agent[] }) {
  return (
    <div className="stack">
      <div className={styles.legend} aria-hidden="true">
        {(Object.keys(WORDS) as SlotUse[]).map((use) => (
          <span key={use}>
            <span className={styles.slot} data-use={use} />
            {WORDS[use]}
          </span>
        ))}
      </div>
      <div className={styles.agents} data-dense={agents.length >= DENSE_FROM}>
        {agents.map((agent) => (
          <AgentTile key={agent.id} agent={agent} />
        ))}
      </div>
    </div>
  );
}

function AgentTile({ agent }: { agent: Agent }) {
  const slots = slotsOf(agent);
  const uses = slots.map((slot) => slotUse(slot, agent));
  const note = !agent.enabled ? (agent.draining ? "draining" : "disabled") : "";
  return (
    <Link className={styles.agent} to={`/agents/${encodeURIComponent(agent.id ?? "")}`} aria-label={`${agent.id}: ${spoken(uses)}${note ? `, ${note}` : ""}`}>
      <span className={styles.name}>
        <span className="truncate">{agent.id}</span>
        {note && <span className="hint">{note}</span>}
      </span>
      <span className={styles.slots}>
        {uses.map((use, index) => (
          <span key={index} className={styles.slot} data-use={use} title={`slot ${slots[index]?.id}: ${WORDS[use]}`} />
        ))}
        {slots.length === 0 && <span className="hint">no slots</span>}
      </span>
    </Link>
  );
}

function spoken(uses: SlotUse[]): string {
  const counts = new Map<SlotUse, number>();
  uses.forEach((use) => counts.set(use, (counts.get(use) ?? 0) + 1));
  const parts = [...counts].map(([use, count]) => `${count} ${WORDS[use]}`);
  return `${plural(uses.length, "slot")}, ${parts.join(", ") || "none"}`;
}

export function Meter({ used, total, label }: { used: number; total: number; label: string }) {
  return (
    <div
      className={styles.meter}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(total, 1)}
      aria-valuenow={used}
    >
      <div style={{ width: `${total ? (100 * used) / total : 0}%` }} />
    </div>
  );
}
