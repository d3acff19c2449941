import { Outlet, useParams } from "react-router";

import { isOnDemand } from "@/data/cluster/machines";
import { enumWord, usePools, type Pool } from "@/data/cluster/queries";
import { Page } from "@/ui/layout/Page";
import { MissingPage, PageQuery } from "@/ui/layout/PageQuery";

export interface PoolContext {
  pool: Pool;
}

/** `/resourcepool/:name/:tab` */
export default function PoolPage() {
  const name = useParams()["poolName"] ?? "";
  const query = usePools();
  const base = `/resourcepool/${encodeURIComponent(name)}`;
  return (
    <PageQuery query={query} what={`resource pool ${name}`} name={`Pool ${name}`}>
      {(pools) => {
        const pool = pools.find((each) => each.name === name);
        if (!pool) return <MissingPage what={`resource pool ${name}`} />;
        const context: PoolContext = { pool };
        return (
          <Page
            name={`Pool ${name}`}
            crumbs={[{ label: "Cluster", to: "/clusters" }, { label: "Resource pools" }]}
            badge={
              <span className="muted">
                {pool.slotsUsed} of {pool.slotsAvailable} slots in use,{" "}
                {enumWord(pool.schedulerType, /^SCHEDULER_TYPE_/)} scheduler
              </span>
            }
            tabs={[
              { label: "Queue", to: `${base}/queue` },
              { label: "Agents", to: `${base}/agents` },
              ...(isOnDemand(pool) ? [{ label: "Machines", to: `${base}/machines` }] : []),
              { label: "Statistics", to: `${base}/stats` },
              { label: "What if", to: `${base}/what-if` },
              { label: "Configuration", to: `${base}/configuration` },
            ]}
          >
            <Outlet context={context} />
          </Page>
        );
      }}
    </PageQuery>
  );
}
