import { flatten, shown } from "@/data/experiments/facts";
import { Empty } from "@/ui/feedback/Feedback";
import { ActsHead, Card, PlainTable } from "@/ui/layout/Card";
import { CopyButton } from "@/ui/text/Copy";

import { useExperimentContext } from "../context";

export default function HyperparametersTab() {
  const { trial } = useExperimentContext();
  const rows = flatten(trial?.hparams);
  if (rows.length === 0)
    return <Empty title="No hyperparameters">The configuration has none.</Empty>;
  return (
    <Card flush>
      <PlainTable label="Hyperparameters" columns={["Name", "Value", <ActsHead key="acts" />]}>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <td className="mono">{name}</td>
            <td className="mono">{shown(value)}</td>
            <td>
              <CopyButton text={shown(value)} label={`Copy ${name}`} />
            </td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}
