import { Link } from "react-router";

import { formatNumber } from "@/data/format/numbers";
import { linkOf } from "@/features/runs/columns";
import { valueOf, type Item } from "@/features/runs/item";

import styles from "../Boards.module.css";
import { figureOf } from "./figures";
import { PanelFrame, PanelState } from "./PanelFrame";
import type { Figure, NumberPanel, Source } from "./types";
import { useFields, usePanelRuns, useWanted } from "./useRuns";
import { columnOf, withValue } from "./wanted";

/** Means and sums read so many runs, the newest. */
const MAX_READ = 500;
/** A few more than one: values that are not finite are passed over. */
const FOR_ONE = 20;

const WORDS: Record<Figure, string> = {
  count: "runs",
  min: "least",
  max: "greatest",
  mean: "mean",
  median: "median",
  sum: "sum",
  latest: "of the newest trial",
};

export function NumberPanelView({ panel, projectId }: { panel: NumberPanel; projectId: number }) {
  const { fields, error, isPending, refetch } = useFields(panel.source, projectId);
  const found = panel.value ? columnOf(panel.value, fields) : undefined;
  const field = found && "field" in found ? found.field : undefined;
  const isOne = panel.of === "min" || panel.of === "max";
  const sort = isOne && field ? `${panel.of === "max" ? "-" : ""}${field.column}` : "";
  const wanted = useWanted(panel.source, sort, projectId, fields);
  const base = "wanted" in wanted && !isPending ? wanted.wanted : undefined;
  const isCount = panel.of === "count";
  const asked = base && (isCount ? base : field ? withValue(base, field) : undefined);
  const query = usePanelRuns(asked, isCount ? 1 : isOne || panel.of === "latest" ? FOR_ONE : MAX_READ);
  const reason = isPending
    ? undefined
    : "reason" in wanted
      ? wanted.reason
      : !isCount && found && "reason" in found
        ? `value: ${found.reason}`
        : undefined;
  const data = query.data;
  const title = panel.title || (panel.value ? `${panel.value}, ${WORDS[panel.of]}` : "Trials");
  if (!data || reason)
    return (
      <PanelFrame title={title}>
        <PanelState reason={reason} error={error ?? query.error} onRetry={() => void (error ? refetch() : query.refetch())} rows={2} />
      </PanelFrame>
    );
  const values = field ? data.rows.map((run) => numberOf(run, field.column)) : [];
  const value = panel.of === "count" ? data.total : figureOf(panel.of, values);
  const run = isOne || panel.of === "latest" ? data.rows[values.findIndex((each) => each === value)] : undefined;
  return (
    <PanelFrame title={title}>
      <div className={styles.figure} title={value === undefined ? undefined : String(value)}>
        {formatNumber(value)}
      </div>
      <div className="hint">
        {run ? (
          <>
            {WORDS[panel.of]}, <Link to={linkOf(run, "run")}>trial {run.id}</Link>
          </>
        ) : value === undefined ? (
          "No trial has a value."
        ) : isCount ? (
          <Counted source={panel.source} />
        ) : data.total > data.rows.length ? (
          `${WORDS[panel.of]} of the newest ${data.rows.length} of ${data.total.toLocaleString("en")} trials`
        ) : (
          `${WORDS[panel.of]} of ${data.total.toLocaleString("en")} trials`
        )}
      </div>
    </PanelFrame>
  );
}

function Counted({ source }: { source: Source }) {
  if (source.by === "runs") return "of the chosen trials";
  if (source.by === "experiment") return <>in <Link to={`/experiments/${source.id}`}>experiment {source.id}</Link></>;
  if (source.query) return <code>{source.query}</code>;
  return source.projectId ? <>in <Link to={`/projects/${source.projectId}`}>project {source.projectId}</Link></> : "in this project";
}

function numberOf(run: Item, column: string): number {
  const value = valueOf(run, column);
  return typeof value === "number" ? value : NaN;
}
