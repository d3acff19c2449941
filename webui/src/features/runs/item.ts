/** A row of the lists: a run, or a search with its best run. Both have the same columns. */
import type { Schemas } from "@/api/client";
import { wireNumber } from "@/data/format/numbers";
import type { CellValue } from "@/ui/table/types";

import type { Group } from "./groups/figures";

/** Stands in a grouped list above the runs of its group. */
export interface GroupHead extends Group {
  isOpen: boolean;
}

export interface Item {
  /** A row with a head is no run: its other members are empty. */
  group?: GroupHead;
  id: number;
  experimentId: number;
  projectId: number;
  workspaceId: number;
  name: string;
  state: string;
  archived: boolean;
  parentArchived: boolean;
  /** Part of a search of several runs. */
  isMultitrial: boolean;
  unmanaged: boolean;
  progress: number | undefined;
  startTime: string | undefined;
  endTime: string | undefined;
  userId: number | undefined;
  labels: readonly string[];
  searcherMetric: string;
  /** Other columns of the table itself, by their names. */
  fields: Readonly<Record<string, CellValue>>;
  hparams: unknown;
  metadata: unknown;
  metrics: unknown;
}

export function fromRun(run: Schemas["FlatRun"]): Item {
  const search = run.experiment ?? {};
  return {
    id: run.id ?? 0,
    experimentId: search.id ?? 0,
    projectId: run.projectId ?? 0,
    workspaceId: run.workspaceId ?? 0,
    name: search.name ?? `trial ${run.id}`,
    state: run.state ?? "",
    archived: Boolean(run.archived),
    parentArchived: Boolean(run.parentArchived),
    isMultitrial: Boolean(search.isMultitrial),
    unmanaged: Boolean(search.unmanaged),
    progress: search.progress,
    startTime: run.startTime,
    endTime: run.endTime,
    userId: run.userId,
    labels: run.labels ?? [],
    searcherMetric: search.searcherMetric ?? "",
    fields: {
      localId: run.localId,
      experimentDescription: search.description,
      experimentName: search.name,
      experimentId: search.id,
      experimentProgress: search.progress,
      forkedFrom: search.forkedFrom,
      searcherType: search.searcherType,
      searcherMetric: search.searcherMetric,
      searcherMetricsVal: wireNumber(run.searcherMetricValue),
      resourcePool: search.resourcePool,
      checkpointSize: wireNumber(run.checkpointSize),
      checkpointCount: run.checkpointCount,
      externalExperimentId: search.externalExperimentId,
      externalRunId: run.externalRunId,
      isExpMultitrial: search.isMultitrial,
      logPolicyMatched: run.logPolicyMatched,
    },
    hparams: run.hyperparameters,
    metadata: run.metadata,
    metrics: run.summaryMetrics,
  };
}

export function fromSearch({ experiment = {}, bestTrial }: Schemas["SearchExperimentExperiment"]): Item {
  return {
    id: experiment.id ?? 0,
    experimentId: experiment.id ?? 0,
    projectId: experiment.projectId ?? 0,
    workspaceId: experiment.workspaceId ?? 0,
    name: experiment.name ?? "",
    state: experiment.state ?? "",
    archived: Boolean(experiment.archived),
    parentArchived: Boolean(experiment.parentArchived),
    isMultitrial: experiment.searcherType !== "single",
    unmanaged: Boolean(experiment.unmanaged),
    progress: experiment.progress,
    startTime: experiment.startTime,
    endTime: experiment.endTime,
    userId: experiment.userId,
    labels: experiment.labels ?? [],
    searcherMetric: experiment.searcherMetric ?? "",
    fields: {
      description: experiment.description,
      numTrials: experiment.numTrials,
      forkedFrom: experiment.forkedFrom,
      searcherType: experiment.searcherType,
      searcherMetric: experiment.searcherMetric,
      searcherMetricsVal: wireNumber(experiment.bestTrialSearcherMetric ?? bestTrial?.searcherMetricValue),
      resourcePool: experiment.resourcePool,
      checkpointSize: wireNumber(experiment.checkpointSize),
      checkpointCount: experiment.checkpointCount,
      externalExperimentId: experiment.externalExperimentId,
    },
    hparams: bestTrial?.hparams ?? experiment.hyperparameters,
    metadata: bestTrial?.metadata,
    metrics: bestTrial?.summaryMetrics,
  };
}

export function headOf(group: Group, isOpen: boolean): Item {
  return { ...NOTHING, group: { ...group, isOpen } };
}

const NOTHING: Item = {
  id: 0,
  experimentId: 0,
  projectId: 0,
  workspaceId: 0,
  name: "",
  state: "",
  archived: false,
  parentArchived: false,
  isMultitrial: false,
  unmanaged: false,
  progress: undefined,
  startTime: undefined,
  endTime: undefined,
  userId: undefined,
  labels: [],
  searcherMetric: "",
  fields: {},
  hparams: undefined,
  metadata: undefined,
  metrics: undefined,
};

/** The value of a column in a row: of a group, the mean. */
export function valueOf(item: Item, column: string): CellValue {
  if (item.group) return item.group.figures.get(column)?.mean;
  switch (column) {
    case "id":
      return item.id;
    case "name":
      return item.name;
    case "state":
      return item.state;
    case "startTime":
      return item.startTime;
    case "endTime":
      return item.endTime;
    case "duration":
      return item.endTime ?? item.state;
    case "user":
      return item.userId;
    case "tags":
      return item.labels.join(", ");
    case "progress":
      return item.progress;
    case "archived":
      return item.archived;
    case "parentArchived":
      return item.parentArchived;
    case "projectId":
      return item.projectId;
  }
  if (column.startsWith("hp.")) return plain(deep(item.hparams, column.slice(3)));
  if (column.startsWith("metadata.")) return plain(deep(item.metadata, column.slice(9)));
  if (column in item.fields) return item.fields[column];
  return metricOf(item.metrics, column);
}

const GROUP_KEYS: Record<string, string> = { training: "avg_metrics", validation: "validation_metrics" };

/** `validation.loss.last` in the summary of a run. Names of metrics may have dots. */
function metricOf(summary: unknown, column: string): CellValue {
  const [group = ""] = column.split(".", 1);
  const figure = column.slice(column.lastIndexOf(".") + 1);
  const name = column.slice(group.length + 1, Math.max(group.length + 1, column.length - figure.length - 1));
  const metrics = member(summary, GROUP_KEYS[group] ?? group);
  const value = member(member(metrics, name), figure);
  return wireNumber(value) ?? plain(value);
}

function deep(value: unknown, path: string): unknown {
  const whole = member(value, path);
  if (whole !== undefined) return whole;
  return path.split(".").reduce<unknown>((at, key) => member(at, key), value);
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function plain(value: unknown): CellValue {
  if (value === null || value === undefined) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : (value as CellValue);
}
