/** The values that differ between two configurations. */
import { flatten } from "../experiments/facts";
import { flow } from "./draft";

export interface Change {
  name: string;
  /** `undefined` where the value is missing. */
  before: string | undefined;
  after: string | undefined;
}

/** One entry for each value that was added, removed or changed, in the order of the newer text. */
export function changesOf(before: Record<string, unknown>, after: Record<string, unknown>): Change[] {
  const old = new Map(flatten(before).map(([name, value]) => [name, flow(value)]));
  const now = new Map(flatten(after).map(([name, value]) => [name, flow(value)]));
  return [...new Set([...now.keys(), ...old.keys()])]
    .map((name) => ({ name, before: old.get(name), after: now.get(name) }))
    .filter((each) => each.before !== each.after);
}
