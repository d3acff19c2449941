import { Link } from "react-router";

import { useWhy } from "@/data/experiments/why";
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
                    ["More urgent requests", String(why.waits.aheadCount)],
                    ["Pool", <Link key="pool" to={`/resourcepool/${encodeURIComponent(why.resourcePool)}`}>{why.resourcePool}</Link>],
                  ]}
                />
              )}
            </div>
          </Card>
          {why.waits && why.waits.next.length > 0 && (
            <Card title="Slots that come free next" flush>
              <PlainTable label="Slots that come free next" columns={["Allocation", "Slots", "Agents", "What it does"]}>
                {why.waits.next.map((each) => (
                  <tr key={each.allocationId}>
                    <td>
                      <Link to={`/experiments/${each.allocationId.split(".")[0]}`} className="mono">
                        {each.allocationId}
                      </Link>
                    </td>
                    <td className="number">{each.slots}</td>
                    <td>{each.agents.join(", ")}</td>
                    <td className="muted">{each.isLeaving ? "is asked to leave" : "runs"}</td>
                  </tr>
                ))}
              </PlainTable>
            </Card>
          )}
        </div>
      )}
    </QueryView>
  );
}

export function sentence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed) return "";
  const upper = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}
