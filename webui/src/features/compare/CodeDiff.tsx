import { useSearchParams } from "react-router";

import { useChangedFiles, type ChangedFile } from "@/data/experiments/changedFiles";
import type { ComparedRun } from "@/data/experiments/compared";
import { plural } from "@/data/format/numbers";
import { DiffView } from "@/ui/editor/Editor";
import { QueryView } from "@/ui/feedback/Feedback";
import { Card } from "@/ui/layout/Card";

import { Pair } from "./Pair";
import styles from "./Compare.module.css";

/** The submitted files of two runs: those that differ, and one of them as a diff. */
export function CodeDiff({ runs }: { runs: ComparedRun[] }) {
  return <Pair runs={runs}>{(before, after) => <Files before={before} after={after} />}</Pair>;
}

function Files({ before, after }: { before: ComparedRun; after: ComparedRun }) {
  const query = useChangedFiles(before.experiment.id ?? 0, after.experiment.id ?? 0);
  return (
    <QueryView query={query} what="the files">
      {({ changed, count }) =>
        changed.length === 0 ? (
          <p>{`The code is the same: ${plural(count, "file")}.`}</p>
        ) : (
          <Changed {...{ before, after, changed, count }} />
        )
      }
    </QueryView>
  );
}

function Changed({
  before,
  after,
  changed,
  count,
}: {
  before: ComparedRun;
  after: ComparedRun;
  changed: ChangedFile[];
  count: number;
}) {
  const [params, setParams] = useSearchParams();
  const shown = changed.find((each) => each.path === params.get("file")) ?? changed[0];
  const open = (path: string) => {
    const next = new URLSearchParams(params);
    next.set("file", path);
    setParams(next, { replace: true });
  };
  return (
    <div className={styles.code}>
      <Card title={`${changed.length} of ${plural(count, "file")}`} flush>
        <ul className={styles.files} aria-label="Files that differ">
          {changed.map((each) => (
            <li key={each.path}>
              <button type="button" aria-current={each === shown || undefined} onClick={() => open(each.path)}>
                <span className="mono truncate">{each.path}</span>
                <span className="hint">{each.change}</span>
              </button>
            </li>
          ))}
        </ul>
      </Card>
      {shown && (
        <DiffView
          label={shown.path}
          path={shown.path}
          before={shown.before}
          after={shown.after}
          beforeLabel={`trial ${before.trial.id}: ${shown.path}`}
          afterLabel={`trial ${after.trial.id}: ${shown.path}`}
        />
      )}
    </div>
  );
}
