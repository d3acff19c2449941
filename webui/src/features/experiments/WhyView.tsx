import type { ReactNode } from "react";
import { Link } from "react-router";

import { type Holder, useWhy } from "@/data/experiments/why";
import { plural } from "@/data/format/numbers";
import { QueryView } from "@/ui/feedback/Feedback";
import { Card, Facts, PlainTable } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";
import { Time } from "@/ui/text/Time";

/** What a waiting job waits for, and which slots come free next. */
export function WhyView({ jobId }: { jobId: string | undefined }) {
  const query = useWhy(jobId);
  return (
    <QueryView query={query} what="the reason">
      {(why) => (
        <div className="stack" style={{ gap: 16, maxWidth: 960 }}>
          <Card>
            <div className="stack">
              <div className="row">
                <StateBadge state={why.state} />
                <strong>{sentence(why.text)}</strong>
              </div>
              {why.waits && (
                <Facts
                  facts={[
                    ["Waits since", <Time key="since" at={why.waits.waitsSince} />],
                    ["Decided", <Time key="decided" at={why.waits.decidedAt} />],
                    ["Needs", plural(why.waits.needsSlots, "slot")],
                    ["Free now", plural(why.waits.freeSlots, "slot")],
                    ["Largest free block on one agent", plural(why.waits.largestHole, "slot")],
                    ["Ahead of it", plural(why.waits.aheadCount, "request")],
                    ["Pool", <Link key="pool" to={`/resourcepool/${encodeURIComponent(why.resourcePool)}`}>{why.resourcePool}</Link>],
                  ]}
                />
              )}
            </div>
          </Card>
          {why.waits && why.waits.ahead.length > 0 && (
            <Card title="Ahead of it" flush>
              <PlainTable label="Ahead of it" columns={["Task", "Owner", "Slots", "Priority"]}>
                {why.waits.ahead.map((each, place) => (
                  <HolderRow key={place} holder={each}>
                    <td className="number">{each.priority}</td>
                  </HolderRow>
                ))}
              </PlainTable>
            </Card>
          )}
          {why.waits && why.waits.next.length > 0 && (
            <Card title="Slots that come free next" flush>
              <PlainTable label="Slots that come free next" columns={["Task", "Owner", "Slots", "Agents", "When"]}>
                {why.waits.next.map((each, place) => (
                  <HolderRow key={place} holder={each}>
                    <td>{each.agents.join(", ")}</td>
                    <td className="muted">{each.isLeaving ? "it is leaving" : each.aboutAt ? <>about <Time at={each.aboutAt} /></> : "no estimate"}</td>
                  </HolderRow>
                ))}
              </PlainTable>
            </Card>
          )}
        </div>
      )}
    </QueryView>
  );
}

/** A task by its name, with its owner and its slots. */
function HolderRow({ holder, children }: { holder: Holder; children: ReactNode }) {
  const name = holder.name || "another task";
  return (
    <tr>
      <td>{holder.trialId ? <Link to={`/trials/${holder.trialId}/overview`}>{name}</Link> : name}</td>
      <td>{holder.username}</td>
      <td className="number">{holder.slots}</td>
      {children}
    </tr>
  );
}

export function sentence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed) return "";
  const upper = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}
