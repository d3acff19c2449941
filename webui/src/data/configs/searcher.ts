/** The section `searcher`: what each method needs. */
import { isMapping } from "./hyperparameters";

export type Method = "adaptive_asha" | "random" | "grid";

export const METHODS: readonly { value: Method; label: string; hint: string }[] = [
  {
    value: "adaptive_asha",
    label: "Adaptive ASHA",
    hint: "Many trials start; those that do worst end early, and their slots go to new ones.",
  },
  { value: "random", label: "Random", hint: "Each trial draws its values at random and trains in full." },
  { value: "grid", label: "Grid", hint: "A trial for each combination. Ranges need a number of points." },
];

type Section = Record<string, unknown>;

const COMMON = ["metric", "smaller_is_better", "source_trial_id", "source_checkpoint_uuid", "max_length"];

const OWN: Record<Method, readonly string[]> = {
  adaptive_asha: ["max_trials", "max_concurrent_trials", "mode", "time_metric", "max_time", "divisor", "max_rungs", "bracket_rungs"],
  random: ["max_trials", "max_concurrent_trials"],
  grid: ["max_concurrent_trials"],
};

/** How long a run trains in full. */
export interface FullTime {
  metric: string;
  value: number;
}

/** The section for a method: what both methods have stays, the rest gets a value to start from. */
export function withMethod(searcher: unknown, method: Method, full?: FullTime): Section {
  const old = isMapping(searcher) ? searcher : {};
  const start: Section =
    method === "grid"
      ? { max_concurrent_trials: 16 }
      : { max_trials: 16, max_concurrent_trials: 16, ...(method === "adaptive_asha" ? asha(full) : {}) };
  const kept = (names: readonly string[]) =>
    Object.fromEntries(names.filter((name) => old[name] !== undefined && old[name] !== null).map((name) => [name, old[name]]));
  return { name: method, ...kept(COMMON), ...start, ...kept(OWN[method]) };
}

function asha(full: FullTime | undefined): Section {
  return { mode: "standard", ...(full ? { time_metric: full.metric, max_time: full.value } : {}) };
}

/** The section of one run that starts where another has stopped. */
export function singleFrom(searcher: unknown, source: { trialId: number } | { checkpoint: string }): Section {
  const old = isMapping(searcher) ? searcher : {};
  const kept = Object.fromEntries(
    ["metric", "smaller_is_better", "max_length"].filter((name) => old[name] !== undefined && old[name] !== null).map((name) => [name, old[name]]),
  );
  return {
    name: "single",
    ...kept,
    ...("trialId" in source ? { source_trial_id: source.trialId } : { source_checkpoint_uuid: source.checkpoint }),
  };
}

/** The training time of a full run: of the searcher, else what the run has trained. */
export function fullTime(searcher: unknown, batches: number | undefined): FullTime | undefined {
  const old = isMapping(searcher) ? searcher : {};
  if (typeof old["time_metric"] === "string" && typeof old["max_time"] === "number")
    return { metric: old["time_metric"], value: old["max_time"] };
  const length = old["max_length"];
  if (isMapping(length))
    for (const unit of ["batches", "epochs"]) {
      const value = length[unit];
      if (typeof value === "number" && value > 0) return { metric: unit, value };
    }
  return batches && batches > 0 ? { metric: "batches", value: batches } : undefined;
}

export const LENGTH_UNITS = ["batches", "records", "epochs"] as const;
export type LengthUnit = (typeof LENGTH_UNITS)[number];

/** `{epochs: 5}` in its parts; a bare number has no unit. */
export function lengthOf(length: unknown): { unit: LengthUnit | ""; text: string } {
  if (isMapping(length)) {
    const unit = LENGTH_UNITS.find((each) => each in length);
    if (unit) return { unit, text: String(length[unit] ?? "") };
    return { unit: "batches", text: "" };
  }
  return { unit: "", text: length === undefined || length === null ? "" : String(length) };
}

/** The method of a section; `undefined` for `single` and for methods of earlier releases. */
export function methodOf(searcher: unknown): Method | undefined {
  const name = isMapping(searcher) ? searcher["name"] : undefined;
  return METHODS.find((each) => each.value === name)?.value;
}
