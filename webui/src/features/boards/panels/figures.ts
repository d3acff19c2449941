/** One number out of the values of several runs. */
import type { Figure } from "./types";

/** Values in the order of the runs, the newest first; undefined where no finite one is among them. */
export function figureOf(of: Exclude<Figure, "count">, values: readonly number[]): number | undefined {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return undefined;
  const sum = finite.reduce((total, each) => total + each, 0);
  switch (of) {
    case "latest":
      return finite[0];
    case "min":
      return finite.reduce((least, each) => Math.min(least, each));
    case "max":
      return finite.reduce((most, each) => Math.max(most, each));
    case "sum":
      return sum;
    case "mean":
      return sum / finite.length;
    case "median": {
      const sorted = [...finite].sort((a, b) => a - b);
      const half = Math.floor(sorted.length / 2);
      const upper = sorted[half] ?? 0;
      return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? 0) + upper) / 2;
    }
  }
}
