import { useEffect, useMemo, useState } from "react";
import { Link } from "react-router";

import type { Trial } from "@/data/experiments/queries";
import { trialLogs } from "@/data/logs/taskLogs";
import type { LogLine } from "@/data/logs/types";
import { isFinished } from "@/data/states";
import { stripAnsi } from "@/ui/log/ansi";

import styles from "./LastLine.module.css";

/** The newest line of a running run's log, at the lower edge of its other tabs. */
export function LastLine({ trial, to }: { trial: Trial; to: string }) {
  const { id, taskId } = trial;
  const isOpen = !isFinished(trial.state) && taskId !== undefined;
  const source = useMemo(
    () => (id !== undefined && isOpen ? trialLogs(id, taskId) : undefined),
    [id, taskId, isOpen],
  );
  const [line, setLine] = useState<LogLine>();
  useEffect(() => {
    if (!source) return;
    let leave: (() => void) | undefined;
    let isGone = false;
    const begin = async () => {
      const { lines } = await source.loadBefore(undefined, 1);
      if (isGone) return;
      setLine(lines[0]);
      leave = source.follow?.(lines[0], (more) => setLine(newest(more)), () => undefined);
    };
    // Without a log there is no line; the log's own tab says why.
    void begin().catch(() => undefined);
    return () => {
      isGone = true;
      leave?.();
    };
  }, [source]);
  if (!isOpen || !line) return null;
  return (
    <Link to={to} className={styles.line} title="Open the log">
      <span className="visually-hidden">Last line of the log: </span>
      {stripAnsi(line.text)}
    </Link>
  );
}

/** The last line that says something. */
export function newest(lines: readonly LogLine[]): LogLine | undefined {
  return lines.findLast((line) => line.text.trim() !== "") ?? lines[lines.length - 1];
}
