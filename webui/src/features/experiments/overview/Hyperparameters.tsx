import { flatten, shown } from "@/data/experiments/facts";
import type { Experiment } from "@/data/experiments/queries";
import { Facts } from "@/ui/layout/Card";

/** Names with values, nested ones with dots. */
export function Hyperparameters({ values }: { values: unknown }) {
  const rows = flatten(values);
  if (rows.length === 0) return <p className="muted">No hyperparameters.</p>;
  return (
    <Facts
      facts={rows.map(
        ([name, value]) =>
          [
            name,
            <code key={name}>
              <bdi>{shown(value)}</bdi>
            </code>,
          ] as const,
      )}
    />
  );
}

/** A row a hyperparameter, as one text: `log 0.0001 to 0.1`. */
export function spaceOf(experiment: Experiment): Record<string, string> {
  const space = experiment.hyperparameters ?? {};
  return Object.fromEntries(Object.entries(space).map(([name, spec]) => [name, rangeOf(spec)]));
}

interface Spec {
  type?: string;
  val?: unknown;
  vals?: unknown[];
  minval?: number;
  maxval?: number;
  base?: number;
}

function rangeOf(spec: unknown): string {
  const s = (spec ?? {}) as Spec;
  if (s.type === "const") return shown(s.val);
  if (s.type === "categorical") return (s.vals ?? []).map(shown).join(" | ");
  if (s.type === "log") return `${s.base}^${s.minval} to ${s.base}^${s.maxval} (log)`;
  if (s.type) return `${s.minval} to ${s.maxval} (${s.type})`;
  return shown(spec);
}
