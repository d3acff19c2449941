/** The columns of a project's lists as the table draws them. */
import { Link } from "react-router";

import { formatBytes, formatNumber, formatPercent } from "@/data/format/numbers";
import { formatDuration } from "@/data/format/times";
import type { ProjectColumn, Table } from "@/data/query/fields";
import type { TableState } from "@/data/view/tableState";
import { Num } from "@/ui/text/Num";
import { Duration, Time } from "@/ui/text/Time";
import { StateBadge } from "@/ui/state/StateBadge";
import type { Column } from "@/ui/table/types";

import { ComparedCell, FiguresCell, HeadCell } from "./groups/cells";
import { differenceOf, NAMES } from "./groups/figures";
import { valueOf, type GroupHead, type Item } from "./item";
import styles from "./Runs.module.css";

const GROUPS: Record<string, string> = {
  LOCATION_TYPE_HYPERPARAMETERS: "Hyperparameters",
  LOCATION_TYPE_RUN_HYPERPARAMETERS: "Hyperparameters",
  LOCATION_TYPE_VALIDATIONS: "Validation metrics",
  LOCATION_TYPE_TRAINING: "Training metrics",
  LOCATION_TYPE_CUSTOM_METRIC: "Other metrics",
  LOCATION_TYPE_RUN_METADATA: "Metadata",
};

const WIDTHS: Record<string, number> = {
  id: 84,
  state: 132,
  tags: 160,
  startTime: 120,
  endTime: 120,
  duration: 104,
  user: 120,
  name: 240,
  experimentName: 240,
  description: 220,
  experimentDescription: 220,
  numTrials: 84,
  progress: 104,
  experimentProgress: 104,
  searcherMetricsVal: 120,
};

const DEFAULTS: Record<Table, readonly string[]> = {
  run: ["id", "experimentName", "state", "searcherMetricsVal", "searcherMetric", "startTime", "duration", "user", "tags", "experimentId", "resourcePool"],
  experiment: ["id", "name", "state", "numTrials", "progress", "searcherMetricsVal", "searcherMetric", "startTime", "duration", "user", "tags", "searcherType", "resourcePool"],
};

const HEADERS: Record<Table, Record<string, string>> = {
  run: { id: "Trial", experimentName: "Name", experimentId: "Experiment", experimentDescription: "Description", localId: "Trial in project", searcherMetricsVal: "Searcher metric value", checkpointCount: "Checkpoints" },
  experiment: { id: "Experiment", numTrials: "Trials", searcherMetricsVal: "Best metric value" },
};

/** The address of a row. */
export function linkOf(item: Item, table: Table): string {
  return table === "run" ? `/experiments/${item.experimentId}/trials/${item.id}` : `/experiments/${item.id}`;
}

export function defaultTable(table: Table, columns: readonly ProjectColumn[]): TableState {
  const known = new Set(columns.map((each) => each.column));
  const shown = DEFAULTS[table].filter((each) => known.size === 0 || known.has(each));
  return {
    sort: [{ id: "id", desc: true }],
    columns: shown,
    pinned: ["id", table === "run" ? "experimentName" : "name"],
    widths: {},
  };
}

/** The column before all others of a grouped list. */
export const GROUP_COLUMN = "(group)";

export interface Names {
  userName(id: number | undefined): string;
  /** The row that the others are compared with. */
  baseline?: Item | undefined;
  /** Numbers have figures, which are wider. */
  isGrouped?: boolean;
  /** Least and greatest value by column, when the heat map is on. */
  ranges?: ReadonlyMap<string, readonly [number, number]> | undefined;
}

export function columnsOf(table: Table, columns: readonly ProjectColumn[], names: Names): Column<Item>[] {
  return columns.flatMap((each) => (each.column ? [columnOf(table, each, each.column, names)] : []));
}

export function groupColumn(
  header: string,
  labelOf: (group: GroupHead) => string,
  onToggle: (key: string) => void,
): Column<Item> {
  return {
    id: GROUP_COLUMN,
    header,
    width: 180,
    sortable: true,
    render: ({ group }) => group && <HeadCell group={group} label={labelOf(group)} onToggle={onToggle} />,
  };
}

function columnOf(table: Table, from: ProjectColumn, id: string, names: Names): Column<Item> {
  const isNumber = from.type === "COLUMN_TYPE_NUMBER" && !["duration", "progress", "experimentProgress"].includes(id);
  const isMetric = ["VALIDATIONS", "TRAINING", "CUSTOM_METRIC"].some((each) => from.location?.endsWith(each));
  const isCompared = isMetric || id === "searcherMetricsVal";
  const range = isMetric ? names.ranges?.get(id) : undefined;
  return {
    id,
    header: HEADERS[table][id] ?? (from.displayName || shortName(id)),
    group: GROUPS[from.location ?? ""] ?? "General",
    width: widthFor(id, isNumber || id === "duration", isMetric, { compared: isCompared && names.baseline !== undefined, grouped: names.isGrouped }),
    sortable: from.type !== "COLUMN_TYPE_ARRAY",
    type: from.type === "COLUMN_TYPE_ARRAY" ? "list" : from.type === "COLUMN_TYPE_DATE" ? "date" : "text",
    hidden: !DEFAULTS[table].includes(id),
    ...(isNumber || id === "duration" ? { align: "end" as const } : {}),
    ...(id === "name" || id === "experimentName" ? { grow: true } : {}),
    value: (item) => valueOf(item, id),
    render: withGroups(renderer(table, id, names), id, isCompared ? names.baseline : undefined),
    ...(range ? { tint: (item: Item) => heat(valueOf(item, id), range) } : {}),
  };
}

const FORMATS: Record<string, (value: number) => string> = {
  duration: formatDuration,
  checkpointSize: formatBytes,
};

/** The figures of a group's head, and the difference of a value to the baseline's. */
function withGroups(render: Column<Item>["render"], id: string, baseline: Item | undefined): Column<Item>["render"] {
  const compared = baseline && valueOf(baseline, id);
  return function Cell(item) {
    const value = valueOf(item, id);
    const difference = baseline ? differenceOf(value, compared) : undefined;
    if (item.group)
      return item.group.figures.has(id) ? (
        <FiguresCell figures={item.group.figures.get(id)} difference={difference} format={FORMATS[id] ?? formatNumber} />
      ) : null;
    if (baseline && typeof value === "number" && item.id !== baseline.id)
      return <ComparedCell value={value} difference={difference} />;
    return render(item);
  };
}

function renderer(table: Table, id: string, { userName, baseline }: Names): Column<Item>["render"] {
  switch (id) {
    case "id":
    case "name":
    case "experimentName":
      return function Name(item) {
        const text = id === "id" ? item.id : item.name || "(no name)";
        return (
          <>
            <Link to={linkOf(item, table)} title={String(text)} className={id === "id" ? "number" : undefined}>
              {text}
            </Link>
            {id !== "id" && item.id === baseline?.id && <span className={styles.baseline}>baseline</span>}
          </>
        );
      };
    case "experimentId":
      return function Search(item) {
        return <Link to={`/searches/${item.experimentId}/runs`}>{item.experimentId}</Link>;
      };
    case "forkedFrom":
      return function Fork({ fields: { forkedFrom } }) {
        return forkedFrom ? <Link to={`/experiments/${forkedFrom}`}>{forkedFrom}</Link> : none;
      };
    case "state":
      return (item) => <StateBadge state={item.state} />;
    case "startTime":
      return (item) => <Time at={item.startTime} />;
    case "endTime":
      return (item) => <Time at={item.endTime} />;
    case "duration":
      return (item) => <Duration start={item.startTime} end={item.endTime} />;
    case "user":
      return (item) => userName(item.userId);
    case "tags":
      return function Tags({ labels }) {
        return labels.length === 0 ? none : labels.map((each) => <span key={each} className={styles.tag}>{each}</span>);
      };
    case "checkpointSize":
      return ({ fields }) => formatBytes(fields["checkpointSize"] as number | undefined);
    case "progress":
    case "experimentProgress":
      return (item) => (item.progress === undefined ? none : formatPercent(item.progress));
  }
  return function Plain(item) {
    const value = valueOf(item, id);
    if (value === undefined || value === null || value === "") return none;
    if (typeof value === "number") return <Num value={value} />;
    if (typeof value === "boolean") return value ? "yes" : "no";
    return <span title={value.length > 20 ? value : undefined}>{value}</span>;
  };
}

const none = <span className={styles.none}>–</span>;

function shortName(id: string): string {
  return id.replace(/^(hp|metadata)\./, "");
}

function widthFor(id: string, isNumber: boolean, isMetric: boolean, { compared, grouped }: { compared: boolean; grouped: boolean | undefined }): number {
  const own = WIDTHS[id] ?? (isMetric ? widthOf(id) : isNumber ? 120 : 150);
  if (!isNumber || NAMES.has(id)) return own;
  const least = grouped ? (compared ? 230 : 160) : compared ? 180 : 0;
  return Math.max(own, least);
}

/** Wide enough for the name on two lines. */
function widthOf(name: string): number {
  return Math.min(220, Math.max(120, Math.ceil(name.length / 2) * 8 + 32));
}

/** From the ground to a soft blue: text keeps its contrast on all of it. */
function heat(value: unknown, [least, most]: readonly [number, number]): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || most <= least) return undefined;
  const share = Math.min(1, Math.max(0, (value - least) / (most - least)));
  return `color-mix(in srgb, var(--accent) ${Math.round(share * 26)}%, var(--bg-1))`;
}
