import { Link } from "react-router";

import { formatBytes, plural } from "@/data/format/numbers";
import { useUserName } from "@/data/workspaces";
import type { Table } from "@/data/query/fields";
import { IconButton } from "@/ui/button/Button";
import { Progress } from "@/ui/feedback/Feedback";
import { Facts } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";
import { Num } from "@/ui/text/Num";
import { Duration, Time } from "@/ui/text/Time";

import { linkOf } from "./columns";
import type { Item } from "./item";
import styles from "./Peek.module.css";

/** A row beside its list: the list stays usable. */
export function Peek({ item, table, onClose }: { item: Item; table: Table; onClose(): void }) {
  const userName = useUserName();
  const value = item.fields["searcherMetricsVal"];
  const hparams = leaves(item.hparams);
  const all = lastValues(item.metrics);
  const metrics = all.slice(0, MAX_METRICS);
  return (
    <aside className={styles.peek} aria-label={`${table === "run" ? "Trial" : "Experiment"} ${item.id}`}>
      <div className={styles.head}>
        <h2>
          <Link to={linkOf(item, table)}>
            {item.id} · {item.name}
          </Link>
        </h2>
        <IconButton icon="close" label="Close (Esc)" onClick={onClose} />
      </div>
      <div className={styles.body}>
        <div className="row">
          <StateBadge state={item.state} />
          {item.archived && <span className="hint">archived</span>}
          {item.labels.map((each) => (
            <span key={each} className={styles.tag}>
              {each}
            </span>
          ))}
        </div>
        {item.progress !== undefined && item.progress < 1 && <Progress value={item.progress} label="Progress" />}
        <Facts
          facts={[
            ["Searcher metric", typeof value === "number" ? <><Num value={value} /> <span className="hint">{item.searcherMetric}</span></> : item.searcherMetric || undefined],
            ["Started", <Time key="s" at={item.startTime} />],
            ["Duration", <Duration key="d" start={item.startTime} end={item.endTime} />],
            ["User", userName(item.userId)],
            ["Pool", item.fields["resourcePool"]],
            table === "run" && ["Experiment", <Link key="e" to={`/searches/${item.experimentId}/runs`}>{item.experimentId}</Link>],
            table === "experiment" && ["Trials", item.fields["numTrials"]],
            ["Checkpoints", `${item.fields["checkpointCount"] ?? 0}, ${formatBytes((item.fields["checkpointSize"] as number | undefined) ?? 0)}`],
          ]}
        />
        {metrics.length > 0 && (
          <section>
            <h3>Metrics, last value</h3>
            <Facts facts={metrics.map(([name, number]) => [name, <Num key={name} value={number} />])} />
            {all.length > MAX_METRICS && <p className="hint">The first {MAX_METRICS} of {plural(all.length, "metric")}. The page of the {table === "run" ? "trial" : "experiment"} has all of them.</p>}
          </section>
        )}
        {hparams.length > 0 && (
          <section>
            <h3>Hyperparameters</h3>
            <Facts facts={hparams.map(([name, each]) => [name, typeof each === "number" ? <Num key={name} value={each} /> : String(each)])} />
          </section>
        )}
      </div>
    </aside>
  );
}

const MAX_METRICS = 60;

function leaves(value: unknown, prefix = "", depth = 0): [string, unknown][] {
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth > 6)
    return prefix ? [[prefix, Array.isArray(value) ? JSON.stringify(value) : value]] : [];
  return Object.entries(value)
    .flatMap(([key, each]) => leaves(each, prefix ? `${prefix}.${key}` : key, depth + 1))
    .slice(0, MAX_METRICS);
}

function lastValues(summary: unknown): [string, number][] {
  const groups = Object.entries((summary ?? {}) as Record<string, Record<string, { last?: unknown }>>);
  return groups
    .flatMap(([group, metrics]) =>
      Object.entries(metrics ?? {}).flatMap(([name, { last }]): [string, number][] =>
        typeof last === "number" ? [[`${SHORT[group] ?? group} ${name}`, last]] : [],
      ),
    )
    .sort(([a], [b]) => b.localeCompare(a));
}

const SHORT: Record<string, string> = { avg_metrics: "training", validation_metrics: "validation" };
