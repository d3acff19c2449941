import { useMemo } from "react";
import { Link, useSearchParams } from "react-router";

import {
  barsOf,
  seconds,
  segmentsOf,
  shareInUse,
  stepsOf,
  timeIn,
  useAgentHistory,
  type AgentHistory,
  type AgentHolding,
  type AgentState,
} from "@/data/cluster/history";
import { formatPercent, plural } from "@/data/format/numbers";
import { formatDuration } from "@/data/format/times";
import { LineChart } from "@/ui/chart/LineChart";
import type { ChartSeries } from "@/ui/chart/types";
import { QueryView } from "@/ui/feedback/Feedback";
import { Segments } from "@/ui/field/Field";
import { Card, PlainTable } from "@/ui/layout/Card";
import { Duration, Time } from "@/ui/text/Time";

import styles from "./AgentHealth.module.css";

const HOURS = [
  { value: "1", label: "1 h" },
  { value: "24", label: "24 h" },
  { value: "168", label: "7 days" },
] as const;

const WORDS: Record<AgentState, string> = {
  accepting: "takes work",
  closed: "takes no work",
  resting: "paused after failed starts",
  absent: "not connected",
};
/** The newest allocations that the table lists. */
const SHOWN = 50;

/** What is recorded of an agent: slots in use, times without work, and what ran there. */
export function AgentHealth({ id }: { id: string }) {
  const [params, setParams] = useSearchParams();
  const hours = HOURS.find((each) => each.value === params.get("hours"))?.value ?? "24";
  const query = useAgentHistory(id, Number(hours));
  // A master without the record shows the agent as it is now.
  if (query.data === null) return null;
  const period = (
    <Segments
      label="Period"
      value={hours}
      options={HOURS}
      onValue={(value) => setParams(value === "24" ? {} : { hours: value }, { replace: true })}
    />
  );
  return (
    <Card title="Over time" actions={period}>
      <QueryView query={query} what="the agent's record">
        {(history) => history && <Recorded history={history} />}
      </QueryView>
    </Card>
  );
}

function Recorded({ history }: { history: AgentHistory }) {
  const lines = useMemo(() => linesOf(history), [history]);
  if (history.moments.length === 0)
    return <p className="hint">The scheduler has recorded nothing of this agent in this time.</p>;
  const segments = segmentsOf(history);
  const share = shareInUse(history);
  const begin = seconds(history.moments[0]?.at ?? history.since);
  return (
    <div className="stack" style={{ gap: 16 }}>
      <p className={styles.summary}>
        {share !== undefined && <span>{formatPercent(share)} of slot time in use</span>}
        {timeIn(segments).map(([state, length]) => (
          <span key={state} className={styles.legend}>
            <span className={styles.swatch} data-state={state} aria-hidden />
            {WORDS[state]} {formatDuration(length)}
          </span>
        ))}
        {begin - seconds(history.since) > 60 && (
          <span className="hint">
            Recorded since <Time at={history.moments[0]?.at} />
          </span>
        )}
      </p>
      <div className={styles.strip} role="img" aria-label={summaryOf(segments)}>
        {segments.map(({ state, from, to }) => (
          <div key={from} data-state={state} style={{ flexGrow: to - from }} title={`${WORDS[state]} for ${formatDuration(to - from)}`} />
        ))}
      </div>
      <LineChart title="Slots" series={lines} x="time" height={160} />
      <Allocations history={history} from={begin} />
    </div>
  );
}

function summaryOf(segments: ReturnType<typeof segmentsOf>): string {
  return `States in their order: ${segments.map(({ state, from, to }) => `${WORDS[state]} for ${formatDuration(to - from)}`).join(", ")}`;
}

function linesOf(history: AgentHistory): ChartSeries[] {
  const used = stepsOf(history, (each) => each.used);
  const enabled = stepsOf(history, (each) => each.slots);
  return [
    { id: "used", runId: 0, label: "in use", ...used, count: used.x.length },
    { id: "enabled", runId: 1, label: "enabled", ...enabled, count: enabled.x.length },
  ];
}

function Allocations({ history, from }: { history: AgentHistory; from: number }) {
  const { bars, lanes } = useMemo(() => barsOf(history, from), [history, from]);
  const newest = useMemo(() => [...history.allocations].reverse().slice(0, SHOWN), [history]);
  if (newest.length === 0) return <p className="hint">No allocation that you may see held its slots in this time.</p>;
  return (
    <>
      <div className={styles.lanes} style={{ height: lanes * LANE_PX + 4 }} aria-hidden>
        {bars.map(({ holding, lane, left, width }) => (
          <div
            key={`${holding.allocationId} ${holding.since}`}
            className={styles.bar}
            data-failed={Boolean(holding.exitError) || undefined}
            title={`${nameOf(holding)}, ${plural(holding.slots, "slot")}`}
            style={{ top: lane * LANE_PX + 2, left: `${100 * left}%`, width: `${100 * width}%` }}
          />
        ))}
      </div>
      <PlainTable label="Allocations" columns={["Task", "Slots", "Since", "Duration", "End"]}>
        {newest.map((holding) => (
          <tr key={`${holding.allocationId} ${holding.since}`}>
            <td className={styles.short}>
              <Link to={pageOf(holding)}>{nameOf(holding)}</Link>
            </td>
            <td className="number">{holding.slots}</td>
            <td className={styles.short}>
              <Time at={holding.since} />
            </td>
            <td>
              <Duration start={holding.since} end={holding.until ?? undefined} />
            </td>
            <td>{holding.until ? holding.exitError || holding.exitReason || "ended" : "in use"}</td>
          </tr>
        ))}
      </PlainTable>
      {history.allocations.length > SHOWN && <p className="hint">The newest {SHOWN} of {history.allocations.length} are listed.</p>}
    </>
  );
}

const LANE_PX = 16;

function nameOf({ trialId, taskType, taskId }: AgentHolding): string {
  return trialId ? `trial ${trialId}` : `${taskType.toLowerCase().replaceAll("_", " ")} ${taskId.slice(0, 8)}`;
}

function pageOf({ trialId, experimentId, taskType, taskId }: AgentHolding): string {
  if (trialId) return `/experiments/${experimentId}/trials/${trialId}/profiler`;
  return `/${taskType.toLowerCase().replaceAll("_", "-")}/${taskId}/logs`;
}
