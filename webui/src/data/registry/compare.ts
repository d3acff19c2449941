/** Two versions of a model side by side. */
import { flatten, shown } from "../experiments/facts";
import { sizeOf } from "../checkpoints";
import { formatBytes } from "../format/numbers";
import type { Version } from "./models";

export interface ComparedRow {
  group: string;
  name: string;
  values: [string, string];
  differs: boolean;
}

type Fields = Map<string, string>;

/** Metrics, hyperparameters, metadata and files of both; `""` where a version has none. */
export function compareVersions(a: Version, b: Version): ComparedRow[] {
  const groups: [string, (version: Version) => Fields][] = [
    ["Version", general],
    ["Validation metrics", (each) => fieldsOf(each.checkpoint?.training?.validationMetrics?.avgMetrics)],
    ["Hyperparameters", (each) => fieldsOf(each.checkpoint?.training?.hparams)],
    ["Metadata", (each) => fieldsOf(each.metadata)],
    ["Files", files],
  ];
  return groups.flatMap(([group, read]) => {
    const [left, right] = [read(a), read(b)];
    const names = [...new Set([...left.keys(), ...right.keys()])];
    return names.map((name) => {
      const values: [string, string] = [left.get(name) ?? "", right.get(name) ?? ""];
      return { group, name, values, differs: values[0] !== values[1] };
    });
  });
}

function fieldsOf(value: unknown): Fields {
  return new Map(flatten(value ?? {}).map(([name, each]) => [name, shown(each)]));
}

function general(version: Version): Fields {
  const training = version.checkpoint?.training;
  return new Map([
    ["Name", version.name ?? ""],
    ["Tags", (version.labels ?? []).join(", ")],
    ["Experiment", String(training?.experimentId ?? "")],
    ["Trial", String(training?.trialId ?? "")],
    ["Checkpoint", version.checkpoint?.uuid ?? ""],
    ["Size", version.checkpoint ? formatBytes(sizeOf(version.checkpoint)) : ""],
  ]);
}

function files(version: Version): Fields {
  const entries = Object.entries(version.checkpoint?.resources ?? {});
  return new Map(entries.map(([path, size]) => [path, formatBytes(size)]));
}
