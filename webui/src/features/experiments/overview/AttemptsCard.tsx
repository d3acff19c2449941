import { Link } from "react-router";

import type { Attempt } from "@/data/experiments/attempts";
import { Card, PlainTable } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";
import { Duration, Time } from "@/ui/text/Time";

import { Agents } from "./facts";
import styles from "./Overview.module.css";

/** The starts of a trial, the newest first, each with how it ended. `logs` is the address of the log. */
export function AttemptsCard({ attempts, total, logs }: { attempts: readonly Attempt[]; total: number; logs: string }) {
  const more = total - attempts.length;
  return (
    <Card title="Attempts" flush {...(more > 0 ? { actions: <span className="muted">{more} earlier ones are not listed</span> } : {})}>
      <PlainTable label="Attempts" columns={["Attempt", "State", "Agent", "Started", "Duration", "How it ended"]}>
        {attempts.map((attempt) => (
          <tr key={attempt.allocationId}>
            <td>Attempt {attempt.number}</td>
            <td>
              <StateBadge {...badgeOf(attempt)} plain />
            </td>
            <td>{attempt.agents.length > 0 ? <Agents ids={attempt.agents} /> : <span className="muted">–</span>}</td>
            <td>
              <Time at={attempt.startedAt} />
            </td>
            <td>{attempt.startedAt && <Duration start={attempt.startedAt} end={attempt.endedAt ?? undefined} />}</td>
            <td>
              <How attempt={attempt} logs={logs} />
            </td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}

/** An attempt that has ended has no state but how it ended. */
export function badgeOf({ state, endedAt, failure, exitReason }: Attempt): { state: string; label?: string } {
  if (!endedAt) return { state };
  if (failure) return { state: "ERROR", label: "Failed" };
  return exitReason ? { state: "TERMINATED", label: "Ended" } : { state: "COMPLETED", label: "Completed" };
}

function How({ attempt: { failure, exitReason }, logs }: { attempt: Attempt; logs: string }) {
  const text = failure?.text || exitReason;
  if (!text) return <span className="muted">–</span>;
  const line = Number(failure?.logPosition) > 0 ? `#L${failure?.logPosition}` : "";
  return (
    <div className={styles.how} title={text}>
      {line ? (
        <Link to={`${logs}${line}`}>
          <bdi>{text}</bdi>
        </Link>
      ) : (
        <bdi>{text}</bdi>
      )}
    </div>
  );
}
