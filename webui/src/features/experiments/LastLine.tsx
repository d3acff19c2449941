import { Link } from "react-router";

import type { Trial } from "@/data/experiments/queries";
import { isFinished } from "@/data/states";
import { stripAnsi } from "@/ui/log/ansi";

import styles from "./LastLine.module.css";
import { useLastLines } from "./useLastLines";
import { useTrialLog } from "./useTrialLog";

/** The newest line of a running trial's log, at the lower edge of its other tabs. */
export function LastLine({ trial, to }: { trial: Trial; to: string }) {
  const isOpen = !isFinished(trial.state) && trial.taskId !== undefined;
  const line = useLastLines(useTrialLog(isOpen ? trial : undefined), 1).at(-1);
  if (!isOpen || !line) return null;
  return (
    <Link to={to} className={styles.line} title="Open the log">
      <span className="visually-hidden">Last line of the log: </span>
      {stripAnsi(line.text)}
    </Link>
  );
}
