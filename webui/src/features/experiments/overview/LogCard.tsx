import { Link } from "react-router";

import type { Trial } from "@/data/experiments/queries";
import { isFinished } from "@/data/states";
import { Card } from "@/ui/layout/Card";
import { stripAnsi } from "@/ui/log/ansi";

import { useLastLines } from "../useLastLines";
import { useTrialLog } from "../useTrialLog";
import styles from "./Overview.module.css";

const LINES = 8;

/** The last lines of a trial's log, which go on while it runs. `to` is the address of the log. */
export function LogCard({ trial, to }: { trial: Trial; to: string }) {
  const lines = useLastLines(useTrialLog(trial), LINES);
  return (
    <Card title={isFinished(trial.state) ? "End of the log" : "Log"} actions={<Link to={to}>Open the log</Link>} flush>
      {lines.length === 0 ? (
        <p className={`muted ${styles.silent}`}>Nothing is written yet.</p>
      ) : (
        <ol className={styles.log} aria-label="Last lines of the log" tabIndex={0}>
          {lines.map((line) => (
            <li key={line.id} data-level={line.level}>
              <bdi>{stripAnsi(line.text).trimEnd()}</bdi>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
