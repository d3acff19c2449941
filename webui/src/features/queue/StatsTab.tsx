import { useOutletContext } from "react-router";

import { useQueueStats } from "@/data/cluster/queries";
import { formatDuration } from "@/data/format/times";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Card, PlainTable, Stat } from "@/ui/layout/Card";

import type { PoolContext } from "./PoolPage";

/** How long jobs waited, a day a row. */
export default function StatsTab() {
  const { pool } = useOutletContext<PoolContext>();
  const query = useQueueStats();
  return (
    <QueryView query={query} what="the statistics">
      {(results) => {
        const own = results.find((each) => each.resourcePool === pool.name);
        const days = own?.aggregates ?? [];
        return (
          <div className="stack" style={{ gap: 16 }}>
            <Card>
              <div className="row" style={{ gap: "12px 40px" }}>
                <Stat label="Waiting">{own?.stats?.queuedCount ?? 0}</Stat>
                <Stat label="Running">{own?.stats?.scheduledCount ?? 0}</Stat>
              </div>
            </Card>
            {days.length === 0 ? (
              <Empty title="No waits are recorded yet" />
            ) : (
              <Card title="Average wait" flush>
                <PlainTable label="Average wait by day" columns={["Day", "Average wait"]}>
                  {days.map((day) => (
                    <tr key={day.periodStart}>
                      <td className="number">{day.periodStart}</td>
                      <td className="number">{formatDuration(day.seconds)}</td>
                    </tr>
                  ))}
                </PlainTable>
              </Card>
            )}
          </div>
        );
      }}
    </QueryView>
  );
}
