import { useMemo, type CSSProperties } from "react";
import { Link } from "react-router";

import type { InteractiveTask, useTaskTree } from "@/data/tasks";
import { useUserName } from "@/data/workspaces";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Card, PlainTable } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";
import { Duration, Time } from "@/ui/text/Time";

import { treeRows } from "./eligible";
import styles from "./Tasks.module.css";

/** The tasks that started each other, each below its parent. */
export function TaskTree({ query, id }: { query: ReturnType<typeof useTaskTree>; id: string }) {
  return (
    <QueryView query={query} what="the tree">
      {(tasks) =>
        tasks.length < 2 ? (
          <Empty title="This task stands alone" command={`det task create config.yaml --parent ${id}`}>
            Tasks that it starts, or that are created with it as their parent, appear here. Pausing and killing a task reaches the
            tasks below it.
          </Empty>
        ) : (
          <Tree tasks={tasks} id={id} />
        )
      }
    </QueryView>
  );
}

function Tree({ tasks, id }: { tasks: readonly InteractiveTask[]; id: string }) {
  const rows = useMemo(() => treeRows(tasks), [tasks]);
  const userName = useUserName();
  return (
    <Card title={`${tasks.length} tasks`} flush>
      <PlainTable label="Tree of tasks" columns={["Task", "State", "User", "Slots", "Submitted", "Duration"]}>
        {rows.map(({ task, depth }) => (
          <tr key={task.id} className={`${styles.branch} ${task.id === id ? styles.current : ""}`} aria-current={task.id === id ? "true" : undefined}>
            <td style={{ paddingLeft: 12 + Math.min(depth, 12) * 20 } as CSSProperties}>
              {depth > 0 && (
                <span className="muted" aria-hidden="true">
                  └{" "}
                </span>
              )}
              {depth > 0 && <span className="visually-hidden">Level {depth + 1}: </span>}
              <Link to={`/generic/${task.id}/tree`}>{task.name}</Link> <span className="hint mono">{task.id.slice(0, 8)}</span>
            </td>
            <td>
              <StateBadge state={task.state} plain />
            </td>
            <td>{userName(task.userId)}</td>
            <td className="number">{task.generic?.slots ?? 0}</td>
            <td>
              <Time at={task.startTime} />
            </td>
            <td>
              <Duration start={task.startTime} end={task.generic?.endTime ?? undefined} />
            </td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}
