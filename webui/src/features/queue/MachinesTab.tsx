import { useState } from "react";
import { Link, useOutletContext } from "react-router";

import { formatDollars, isOnDemand, usePoolOffers, type Offer, type PricedPool } from "@/data/cluster/machines";
import { plural } from "@/data/format/numbers";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { TextField } from "@/ui/field/Field";
import { Card, Facts, PlainTable } from "@/ui/layout/Card";
import { Time } from "@/ui/text/Time";

import type { PoolContext } from "./PoolPage";

const MAX_SLOTS = 1_000_000;

/** The machines of a pool on demand: number, price, budget, and the offers for a number of slots. */
export default function MachinesTab() {
  const { pool } = useOutletContext<PoolContext>();
  if (!isOnDemand(pool)) {
    return <Empty title="This pool has no machines on demand" />;
  }
  return (
    <div className="stack" style={{ gap: 16 }}>
      <Cost pool={pool} />
      <Offers pool={pool.name ?? ""} />
    </div>
  );
}

function Cost({ pool }: { pool: PricedPool }) {
  const queue = `/resourcepool/${encodeURIComponent(pool.name ?? "")}/queue`;
  return (
    <Card title="Machines">
      <Facts
        facts={[
          ["Machine type", pool.instanceType],
          ["Agents now", String(pool.numAgents ?? 0)],
          ["Minimum and maximum", `${pool.minAgents ?? 0} to ${pool.maxAgents ?? 0}`],
          ["Price of one per hour", formatDollars(pool.pricePerHour)],
          ["All machines per hour", formatDollars(pool.costPerHour)],
          ["Budget per hour", pool.maxCostPerHour === undefined ? "none" : formatDollars(pool.maxCostPerHour)],
          [
            "Waiting jobs",
            <span key="waiting">
              each job of the <Link to={queue}>queue</Link> shows the reason why it waits
            </span>,
          ],
        ]}
      />
    </Card>
  );
}

function Offers({ pool }: { pool: string }) {
  const [text, setText] = useState("1");
  const wanted = Number(text);
  const isNumber = /^\d+$/.test(text) && wanted >= 1 && wanted <= MAX_SLOTS;
  const slots = isNumber ? wanted : 1;
  const query = usePoolOffers(pool, slots);
  return (
    <Card title="Offers">
      <div className="stack">
        <p className="muted">The next launch tries these in order. Prices are list prices.</p>
        <div style={{ maxWidth: 160 }}>
          <TextField
            label="Slots"
            inputMode="numeric"
            value={text}
            error={isNumber ? undefined : `A whole number from 1 to ${MAX_SLOTS}`}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
        <QueryView query={query} what="the offers">
          {(found) => (
            <>
              {found.problem && <p role="status">{found.problem}</p>}
              <PlainTable
                label={`Offers for ${plural(slots, "slot")}`}
                columns={["Machine type", "Place", "Market", "One per hour", `${plural(found.machines ?? 0, "machine")} per hour`, "Left out"]}
              >
                {(found.offers ?? []).map((offer) => (
                  <tr key={`${offer.machineType} ${offer.place} ${offer.market}`}>
                    <td className="mono">{offer.machineType}</td>
                    <td>{offer.place}</td>
                    <td>{offer.market}</td>
                    <td className="number">{formatDollars(offer.pricePerHour)}</td>
                    <td className="number">{formatDollars(offer.totalPerHour)}</td>
                    <td><LeftOut offer={offer} /></td>
                  </tr>
                ))}
              </PlainTable>
            </>
          )}
        </QueryView>
      </div>
    </Card>
  );
}

function LeftOut({ offer }: { offer: Offer }) {
  if (!offer.leftOut) return null;
  return (
    <>
      {offer.leftOut}
      {offer.leftOutUntil && (
        <>
          {" until "}
          <Time at={offer.leftOutUntil} />
        </>
      )}
    </>
  );
}
