import { useQuery } from "@tanstack/react-query";
import { max } from "d3-array";
import { useSearchParams } from "react-router";

import { serverNow } from "@/api/clock";
import { answer, api, BASE_PATH } from "@/api/client";
import { formatHours } from "@/data/format/times";
import { Select, Segments, TextField } from "@/ui/field/Field";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Card, PlainTable } from "@/ui/layout/Card";
import { Page } from "@/ui/layout/Page";
import { Num } from "@/ui/text/Num";

import { clusterTabs } from "./clusterTabs";
import { entriesBy, GROUPS, rangeOf, rangeProblem, totals, type Group, type Period } from "./usage";
import styles from "./Usage.module.css";

/** `/clusters/historical-usage`: slot hours by day or month, for all, a user, a label or a pool. */
export default function UsagePage() {
  const [params, setParams] = useSearchParams();
  const period: Period = params.get("period") === "month" ? "month" : "day";
  const group = (params.get("by") ?? "total") as Group;
  const fallback = rangeOf(period, serverNow());
  const start = params.get("from") ?? fallback.start;
  const end = params.get("to") ?? fallback.end;
  const problem = rangeProblem(period, start, end);
  const change = (changes: Record<string, string>) => {
    const next = new URLSearchParams(params);
    for (const [name, value] of Object.entries(changes)) next.set(name, value);
    setParams(next);
  };
  const query = useQuery({
    queryKey: ["usage", period, start, end],
    enabled: !problem,
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/resources/allocation/aggregated", {
            params: {
              query: {
                startDate: period === "month" ? start.slice(0, 7) : start,
                endDate: period === "month" ? end.slice(0, 7) : end,
                period:
                  period === "month"
                    ? "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"
                    : "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY",
              },
            },
          }),
        )
      ).resourceEntries ?? [],
  });
  const span = `${start}-to-${end}`;
  const csv = `timestamp_after=${start}T00:00:00Z&timestamp_before=${end}T23:59:59Z`;
  return (
    <Page
      name="Historical usage"
      crumbs={[{ label: "Cluster", to: "/clusters" }]}
      tabs={clusterTabs}
      actions={
        <>
          <a href={`${BASE_PATH}/resources/allocation/allocations-csv?${csv}`} download={`allocations-${span}.csv`}>
            Allocations (CSV)
          </a>
          <a href={`${BASE_PATH}/resources/allocation/raw?${csv}`} download={`workloads-${span}.csv`}>
            Workloads (CSV)
          </a>
        </>
      }
    >
      <div className="stack" style={{ gap: 16 }}>
        <div className="row" style={{ alignItems: "flex-end" }}>
          <Segments
            label="Period"
            value={period}
            options={[
              { value: "day", label: "Days" },
              { value: "month", label: "Months" },
            ]}
            onValue={(value) => change({ period: value, from: rangeOf(value, serverNow()).start, to: rangeOf(value, serverNow()).end })}
          />
          <TextField label="From" type="date" value={start} onChange={(event) => change({ from: event.target.value })} />
          <TextField label="To" type="date" value={end} error={problem} onChange={(event) => change({ to: event.target.value })} />
          <Select label="By" value={group} options={GROUPS} onValue={(by) => change({ by })} />
        </div>
        <QueryView query={query} what="the usage">
          {(entries) => {
            const rows = totals(entries);
            if (rows.length === 0)
              return <Empty title="No usage in this time">The master sums up usage once a day, shortly after midnight (UTC).</Empty>;
            const most = max(rows, (row) => row.hours) ?? 1;
            const names = entriesBy(entries, group);
            return (
              <div className="stack" style={{ gap: 16 }}>
                <Card title="Slot hours">
                  <div className={styles.bars} role="img" aria-label={`Slot hours from ${start} to ${end}`}>
                    {rows.map((row) => (
                      <div key={row.start} className={styles.bar} title={`${row.start}: ${formatHours(row.hours)}`}>
                        <div style={{ height: `${(100 * row.hours) / most}%` }} />
                        <span>{period === "month" ? row.start.slice(0, 7) : row.start.slice(5)}</span>
                      </div>
                    ))}
                  </div>
                </Card>
                <Card title={`By ${group}`} flush>
                  <PlainTable label={`Slot hours by ${group}`} columns={["Name", "Slot hours"]}>
                    {names.map(([name, hours]) => (
                      <tr key={name}>
                        <td>{name}</td>
                        <td>
                          <Num value={hours} />
                        </td>
                      </tr>
                    ))}
                  </PlainTable>
                </Card>
              </div>
            );
          }}
        </QueryView>
      </div>
    </Page>
  );
}
