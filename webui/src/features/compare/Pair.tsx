import { useState, type ReactNode } from "react";

import type { ComparedRun } from "@/data/experiments/compared";
import { Empty } from "@/ui/feedback/Feedback";
import { Select } from "@/ui/field/Field";

/** Chooses two of the runs for a diff. */
export function Pair({
  runs,
  children,
}: {
  runs: ComparedRun[];
  children(before: ComparedRun, after: ComparedRun): ReactNode;
}) {
  const [left, setLeft] = useState(0);
  const [right, setRight] = useState(1);
  const before = runs[left];
  const after = runs[right];
  if (!before || !after)
    return <Empty title="A diff needs two trials">Add a second trial to the comparison.</Empty>;
  const options = runs.map(({ trial }, index) => ({ value: String(index), label: `trial ${trial.id}` }));
  return (
    <div className="stack">
      <div className="row">
        <Select label="Before" value={String(left)} options={options} onValue={(value) => setLeft(Number(value))} />
        <Select label="After" value={String(right)} options={options} onValue={(value) => setRight(Number(value))} />
      </div>
      {children(before, after)}
    </div>
  );
}
