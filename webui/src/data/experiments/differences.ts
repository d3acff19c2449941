/** Facts of several runs side by side. */

export interface FactRow {
  name: string;
  /** One for each run, in their order; undefined where the run lacks it. */
  values: (string | undefined)[];
  differs: boolean;
}

/** One row a name over all runs, in the order in which names are first seen. */
export function sideBySide(runs: readonly (readonly [string, string])[][]): FactRow[] {
  const columns = runs.map((facts) => new Map(facts));
  const names = new Set(runs.flatMap((facts) => facts.map(([name]) => name)));
  return [...names].map((name) => {
    const values = columns.map((column) => column.get(name));
    return { name, values, differs: new Set(values).size > 1 };
  });
}
