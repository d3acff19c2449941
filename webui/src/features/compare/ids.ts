/** Which runs a comparison is of: `?runs=1,2`, or `?experiments=1,2` for all runs of searches. */

/** Of one comparison, as in 0.38. */
export const MAX_RUNS = 50;

/** Whole positive numbers, each once, at most fifty. */
export function idsOf(text: string | null): number[] {
  const ids = (text ?? "").split(",").map(Number);
  return [...new Set(ids.filter((id) => Number.isInteger(id) && id > 0))].slice(0, MAX_RUNS);
}
