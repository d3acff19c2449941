/** The fields of a query: the project's columns and the short names that people type. */
export type Table = "run" | "experiment";
export type FieldType = "text" | "number" | "date" | "array";

export interface Field {
  /** The column of the master. */
  column: string;
  location: string;
  type: FieldType;
  /** What a person reads. */
  label: string;
}

export interface ProjectColumn {
  column?: string;
  location?: string;
  type?: string;
  displayName?: string;
}

export interface Fields {
  table: Table;
  byName: ReadonlyMap<string, Field>;
  /** Alias in small letters to column. */
  aliases: ReadonlyMap<string, string>;
}

const COMMON: Record<string, string> = {
  tag: "tags",
  label: "tags",
  labels: "tags",
  pool: "resourcePool",
  started: "startTime",
  start: "startTime",
  ended: "endTime",
  end: "endTime",
  searcher: "searcherType",
  metric: "searcherMetricsVal",
  checkpoints: "checkpointCount",
  size: "checkpointSize",
  parent: "forkedFrom",
  fork: "forkedFrom",
};

const OF_RUNS: Record<string, string> = {
  name: "experimentName",
  search: "experimentId",
  experiment: "experimentId",
  description: "experimentDescription",
  progress: "experimentProgress",
  run: "id",
  trial: "id",
  policy: "logPolicyMatched",
};

const OF_EXPERIMENTS: Record<string, string> = { search: "id", experiment: "id", trials: "numTrials", runs: "numTrials" };

/** Columns that the master filters by but does not list. */
const UNLISTED: Record<string, FieldType> = { endTime: "date", archived: "text", projectId: "number", externalRunId: "text" };

export function fieldsOf(table: Table, columns: readonly ProjectColumn[]): Fields {
  const byName = new Map<string, Field>();
  const own = table === "run" ? "LOCATION_TYPE_RUN" : "LOCATION_TYPE_EXPERIMENT";
  for (const [column, type] of Object.entries(UNLISTED))
    byName.set(column, { column, type, location: own, label: column });
  for (const each of columns) {
    if (!each.column) continue;
    const column = withPrefix(each.column, each.location);
    byName.set(column, {
      column,
      location: each.location ?? own,
      type: typeOf(each.type),
      label: each.displayName || column,
    });
  }
  const names = { ...COMMON, ...(table === "run" ? OF_RUNS : OF_EXPERIMENTS) };
  const aliases = new Map(Object.entries(names).filter(([, column]) => byName.has(column)));
  return { table, byName, aliases };
}

/** The field of a typed name: an alias, a column in any case, `metric.NAME`, `train.NAME`, or a bare name. */
export function findField(name: string, { byName, aliases }: Fields): Field | undefined {
  const exact = byName.get(name);
  if (exact) return exact;
  const small = name.toLowerCase();
  const alias = aliases.get(small);
  if (alias) return byName.get(alias);
  for (const [prefix, groups] of METRIC_PREFIXES) {
    const metric = small.startsWith(prefix) ? metricField(name.slice(prefix.length), groups, byName) : undefined;
    if (metric) return metric;
  }
  for (const [column, field] of byName) if (column.toLowerCase() === small) return field;
  return byName.get(`hp.${name}`) ?? metricField(name, ["validation", "training"], byName);
}

function metricField(name: string, groups: readonly string[], byName: Fields["byName"]): Field | undefined {
  for (const group of groups) {
    const field = byName.get(`${group}.${name}`) ?? byName.get(`${group}.${name}.last`);
    if (field) return field;
  }
  return undefined;
}

const METRIC_PREFIXES: [string, string[]][] = [
  ["metric.", ["validation", "training"]],
  ["val.", ["validation"]],
  ["train.", ["training"]],
];

/** The known name that is nearest to a wrong one; empty where none is near. */
export function nearest(name: string, { byName, aliases }: Fields): string {
  const small = name.toLowerCase();
  let best = "";
  let least = Math.max(2, Math.floor(small.length / 3)) + 1;
  for (const candidate of [...aliases.keys(), ...byName.keys()]) {
    const tail = candidate.toLowerCase().replace(/^(hp|metadata|validation|training)\./, "");
    const gap = Math.min(distance(small, candidate.toLowerCase()), distance(small, tail) + 0.5);
    if (gap < least) [best, least] = [candidate, gap];
  }
  return best;
}

function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 6) return Infinity;
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (last[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    last = next;
  }
  return last[b.length] ?? 0;
}

function typeOf(type: string | undefined): FieldType {
  if (type === "COLUMN_TYPE_NUMBER") return "number";
  if (type === "COLUMN_TYPE_DATE") return "date";
  return type === "COLUMN_TYPE_ARRAY" ? "array" : "text";
}

function withPrefix(column: string, location: string | undefined): string {
  const prefix = location?.endsWith("HYPERPARAMETERS") ? "hp." : location === "LOCATION_TYPE_RUN_METADATA" ? "metadata." : "";
  return column.startsWith(prefix) ? column : prefix + column;
}
