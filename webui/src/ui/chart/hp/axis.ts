/** Axes of hyperparameters and metrics: linear, logarithmic, or categories. Places are 0 to 1. */
import { scaleLinear, scaleLog } from "d3-scale";

import { distinctLabels } from "../math/ticks";

export type AxisKind = "linear" | "log" | "category";

export interface HpRun {
  id: string;
  label: string;
  hparams: Readonly<Record<string, unknown>>;
  /** The best value of the metric of the charts; undefined before the first report. */
  metric: number | undefined;
}

export interface HpAxis {
  name: string;
  kind: AxisKind;
  /** The categories, in order. */
  categories: readonly string[];
  /** Undefined for a value that the axis cannot show. */
  place(value: unknown): number | undefined;
  /** The number at a place; NaN on a category axis. */
  at(place: number): number;
  ticks: readonly { place: number; label: string }[];
}

const LOG_FROM = 100;

export function makeAxis(name: string, values: readonly unknown[], wanted?: AxisKind): HpAxis {
  const known = values.filter((value) => value !== undefined && value !== null);
  const numbers = known.filter((value): value is number => typeof value === "number" && Number.isFinite(value));
  const mixed = known.some((value) => typeof value !== "number");
  if (wanted === "category" || mixed || numbers.length === 0) return categoryAxis(name, known);
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  const positive = low > 0;
  const log = positive && (wanted === "log" || (wanted === undefined && high / low >= LOG_FROM));
  return numberAxis(name, low, high, log);
}

function numberAxis(name: string, low: number, high: number, log: boolean): HpAxis {
  const [from, to] = low < high ? [low, high] : log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const scale = (log ? scaleLog() : scaleLinear()).domain([from, to]).range([0, 1]);
  const ticks = log ? powers(from, to) : scale.ticks(5);
  const labels = distinctLabels(ticks);
  return {
    name,
    kind: log ? "log" : "linear",
    categories: [],
    place(value) {
      if (typeof value !== "number" || !Number.isFinite(value) || (log && value <= 0)) return undefined;
      return scale(value);
    },
    at: (place) => scale.invert(place),
    ticks: ticks.map((value, i) => ({ place: scale(value), label: labels[i] as string })),
  };
}

/** Powers of ten, with 2 and 5 in between where there are few; the ends where there are none. */
function powers(low: number, high: number): number[] {
  const found: number[] = [];
  const wide = Math.log10(high / low) > 2.5;
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const step of wide ? [1] : [1, 2, 5]) {
      const value = Number(`${step}e${power}`);
      if (value >= low && value <= high) found.push(value);
    }
  return found.length > 1 ? found : [low, high];
}

function categoryAxis(name: string, values: readonly unknown[]): HpAxis {
  const collator = new Intl.Collator("en", { numeric: true });
  const categories = [...new Set(values.map(textOf))].sort(collator.compare);
  const place = (index: number) => (categories.length === 1 ? 0.5 : index / (categories.length - 1));
  return {
    name,
    kind: "category",
    categories,
    place(value) {
      const index = categories.indexOf(textOf(value));
      return value === undefined || value === null || index < 0 ? undefined : place(index);
    },
    at: () => NaN,
    ticks: categories.map((label, i) => ({ place: place(i), label })),
  };
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Names of hyperparameters that differ between the runs, in the order of their names. */
export function variedNames(runs: readonly HpRun[]): string[] {
  const seen = new Map<string, Set<string>>();
  for (const run of runs)
    for (const [name, value] of Object.entries(run.hparams)) {
      const values = seen.get(name) ?? new Set();
      values.add(textOf(value));
      seen.set(name, values);
    }
  return [...seen].filter(([, values]) => values.size > 1).map(([name]) => name).sort();
}

/** From 0 for the worst to 1 for the best metric; undefined without one. */
export function goodness(runs: readonly HpRun[], smallerIsBetter: boolean): Map<string, number> {
  const known = runs.filter((run) => run.metric !== undefined && Number.isFinite(run.metric));
  const values = known.map((run) => run.metric as number);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const part = (value: number) => (high > low ? (value - low) / (high - low) : 1);
  return new Map(known.map((run) => [run.id, smallerIsBetter ? 1 - part(run.metric as number) : part(run.metric as number)]));
}
