import { useState } from "react";
import { Link } from "react-router";

import type { ComparedRun } from "@/data/experiments/compared";
import { sideBySide } from "@/data/experiments/differences";
import { bestMetric, flatten, shown } from "@/data/experiments/facts";
import { formatNumber, plural } from "@/data/format/numbers";
import { stateLabel } from "@/data/states";
import { Checkbox } from "@/ui/field/Field";
import { Card, PlainTable } from "@/ui/layout/Card";

/** Facts, hyperparameters and configuration; the equal ones on request. */
export function DetailsTable({ runs }: { runs: ComparedRun[] }) {
  const [onlyDifferent, setOnlyDifferent] = useState(true);
  const rows = sideBySide(runs.map(factsOf));
  const visible = onlyDifferent ? rows.filter((row) => row.differs) : rows;
  return (
    <div className="stack">
      <div className="row">
        <Checkbox label="Only differences" checked={onlyDifferent} onValue={setOnlyDifferent} />
        <span className="hint">
          {plural(visible.length, "row")} of {rows.length}
        </span>
      </div>
      <Card flush>
        <PlainTable
          label="Trials side by side"
          columns={[
            "Name",
            ...runs.map(({ trial }) => (
              <Link key={trial.id} to={`/trials/${trial.id}`}>
                trial {trial.id}
              </Link>
            )),
          ]}
        >
          {visible.map((row) => (
            <tr key={row.name}>
              <th scope="row" className="mono">
                {row.name}
              </th>
              {row.values.map((value, index) => (
                <td key={index} className="mono">
                  {value ?? "–"}
                </td>
              ))}
            </tr>
          ))}
        </PlainTable>
      </Card>
    </div>
  );
}

function factsOf({ trial, experiment }: ComparedRun): [string, string][] {
  const metric = experiment.searcherMetric;
  return [
    ["experiment", `${experiment.id} ${experiment.name}`],
    ["state", stateLabel(trial.state)],
    [`best ${metric}`, formatNumber(bestMetric(trial, metric))],
    ["batches", String(trial.totalBatchesProcessed ?? 0)],
    ["restarts", String(trial.restarts ?? 0)],
    ...flatten(trial.hparams).map(([name, value]): [string, string] => [`hp.${name}`, shown(value)]),
    ...flatten(experiment.config).map(([name, value]): [string, string] => [name, shown(value)]),
  ];
}
