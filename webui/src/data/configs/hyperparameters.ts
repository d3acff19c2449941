/** Hyperparameters of a configuration as rows of a form, and their types. */
import type { Path } from "./draft";

export type HpType = "const" | "int" | "double" | "log" | "categorical";

export const HP_TYPES: readonly { value: HpType; label: string }[] = [
  { value: "const", label: "Constant" },
  { value: "categorical", label: "Choice" },
  { value: "int", label: "Whole number" },
  { value: "double", label: "Number" },
  { value: "log", label: "Logarithmic" },
];

export interface HpRow {
  /** With dots between the names of groups. */
  name: string;
  /** Below `hyperparameters`. */
  path: Path;
  type: HpType;
  /** `lr: 0.1` instead of `lr: {type: const, val: 0.1}`. */
  isBare: boolean;
  spec: unknown;
}

type Spec = Record<string, unknown>;

const TYPES = new Set<unknown>(HP_TYPES.map(({ value }) => value));

export function isMapping(value: unknown): value is Spec {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** One row each; groups are walked. A spec of an unknown type is left to the YAML. */
export function rowsOf(hyperparameters: unknown, path: Path = []): HpRow[] {
  if (!isMapping(hyperparameters)) return [];
  return Object.entries(hyperparameters).flatMap(([key, spec]): HpRow[] => {
    const here = [...path, key];
    const row = { name: here.join("."), path: here, spec };
    if (!isMapping(spec)) return [{ ...row, type: "const", isBare: true }];
    if (!("type" in spec)) return rowsOf(spec, here);
    return TYPES.has(spec["type"]) ? [{ ...row, type: spec["type"] as HpType, isBare: false }] : [];
  });
}

/** The value of a constant. */
export function constantOf({ spec, isBare }: Pick<HpRow, "spec" | "isBare">): unknown {
  return isBare ? spec : (spec as Spec)["val"];
}

/** Where the value of a constant is written. */
export function constantPath({ path, isBare }: Pick<HpRow, "path" | "isBare">): Path {
  return isBare ? path : [...path, "val"];
}

/** The spec of another type that is nearest to the row's: what a person narrows from there. */
export function converted(row: Pick<HpRow, "type" | "spec" | "isBare">, type: HpType): unknown {
  if (row.type === type) return row.spec;
  const [low, high] = rangeOf(row);
  const count = isMapping(row.spec) && typeof row.spec["count"] === "number" ? { count: row.spec["count"] } : {};
  switch (type) {
    case "const":
      return bareOf(firstOf(row));
    case "categorical":
      return { type, vals: valuesOf(row) };
    case "int": {
      const minval = Math.floor(low);
      return { type, minval, maxval: Math.max(Math.ceil(high), minval + 1), ...count };
    }
    case "double":
      return { type, minval: low, maxval: high, ...count };
    case "log": {
      const from = low > 0 ? round(Math.floor(round(Math.log10(low)))) : -4;
      const to = high > 0 ? round(Math.ceil(round(Math.log10(high)))) : 0;
      return { type, base: 10, minval: from, maxval: Math.max(to, from + 1), ...count };
    }
  }
}

/** True when all runs would have the same values. */
export function hasNoRange(rows: readonly HpRow[]): boolean {
  return rows.every(({ type }) => type === "const");
}

/** Hyperparameters with constants written out short. */
export function shortened(hyperparameters: unknown): unknown {
  if (!isMapping(hyperparameters)) return hyperparameters;
  return Object.fromEntries(
    Object.entries(hyperparameters).map(([key, spec]) => [
      key,
      isMapping(spec) && spec["type"] === "const" ? bareOf(spec["val"]) : isMapping(spec) && !("type" in spec) ? shortened(spec) : spec,
    ]),
  );
}

/** The values of one run as constants. */
export function constants(hparams: unknown): Spec {
  if (!isMapping(hparams)) return {};
  return Object.fromEntries(
    Object.entries(hparams).map(([key, value]) => [key, isMapping(value) && !("type" in value) ? constants(value) : bareOf(value)]),
  );
}

/** A map as a constant needs the long form, since a map alone is a group. */
function bareOf(value: unknown): unknown {
  return isMapping(value) ? { type: "const", val: value } : (value ?? null);
}

function firstOf(row: Pick<HpRow, "type" | "spec" | "isBare">): unknown {
  if (row.type === "const") return constantOf(row);
  const spec = row.spec as Spec;
  if (row.type === "categorical") return Array.isArray(spec["vals"]) ? spec["vals"][0] : undefined;
  return rangeOf(row)[0];
}

function valuesOf(row: Pick<HpRow, "type" | "spec" | "isBare">): unknown[] {
  if (row.type === "const") return [constantOf(row)];
  return rangeOf(row);
}

/** Low and high as plain numbers, the low one first. Around a constant: from its half to its double. */
function rangeOf(row: Pick<HpRow, "type" | "spec" | "isBare">): [number, number] {
  const spec = isMapping(row.spec) ? row.spec : {};
  const number = (value: unknown): number | undefined => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
  if (row.type === "const") return around(number(constantOf(row)));
  if (row.type === "categorical") {
    const values = (Array.isArray(spec["vals"]) ? spec["vals"] : []).filter((each) => number(each) !== undefined) as number[];
    return values.length > 1 ? [Math.min(...values), Math.max(...values)] : around(values[0]);
  }
  const [low, high] = [number(spec["minval"]) ?? 0, number(spec["maxval"]) ?? 1];
  if (row.type !== "log") return [low, high];
  const base = number(spec["base"]) ?? 10;
  return [round(base ** low), round(base ** high)];
}

export interface DrawnRange {
  low: number;
  high: number;
  /** Where values lie on a linear axis from `low` (0) to `high` (1), equally likely from one to the next. */
  points: number[];
}

const POINTS = 9;
const MAX_POINTS = 33;

/** The range of a row as values, not as exponents; `undefined` for one that is not complete. */
export function drawnRange(row: HpRow): DrawnRange | undefined {
  if (row.type === "const" || row.type === "categorical" || !isMapping(row.spec)) return undefined;
  const { minval, maxval, count } = row.spec;
  if (typeof minval !== "number" || typeof maxval !== "number") return undefined;
  const [low, high] = rangeOf(row);
  if (!(low < high) || !Number.isFinite(high)) return undefined;
  const all = row.type === "int" ? high - low + 1 : POINTS;
  const size = Math.max(2, Math.min(MAX_POINTS, typeof count === "number" ? count : Math.min(POINTS, all)));
  const points = Array.from({ length: size }, (_, at) => {
    const share = at / (size - 1);
    return row.type === "log" ? (low * (high / low) ** share - low) / (high - low) : share;
  });
  return { low, high, points };
}

function around(value: number | undefined): [number, number] {
  if (value === undefined || value === 0) return [0, 1];
  const ends: [number, number] = [round(value / 2), round(value * 2)];
  return value > 0 ? ends : [ends[1], ends[0]];
}

/** Without the last bits of a division: 0.1 · 2 is 0.2; zero has no sign. */
function round(value: number): number {
  return Number(value.toPrecision(12)) + 0;
}
