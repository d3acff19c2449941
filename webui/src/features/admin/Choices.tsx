import { useState } from "react";

import { Checkbox, TextField } from "@/ui/field/Field";

import styles from "./Admin.module.css";

const MANY = 8;

/** Some of a list of users, groups or roles; a long list has a filter. */
export function Choices<Id extends number | string>({
  legend,
  options,
  chosen,
  onChosen,
}: {
  legend: string;
  options: { id: Id; label: string }[];
  chosen: ReadonlySet<Id>;
  onChosen(next: Set<Id>): void;
}) {
  const [text, setText] = useState("");
  const shown = options.filter((each) => each.label.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <fieldset className={styles.fieldset}>
      <legend>
        {legend} ({chosen.size} chosen)
      </legend>
      {options.length > MANY && (
        <TextField label={`Filter the ${legend.toLowerCase()}`} hideLabel placeholder="Filter" value={text} onChange={(event) => setText(event.target.value)} />
      )}
      <div className={styles.checks}>
        {shown.map((each) => (
          <Checkbox
            key={each.id}
            label={each.label}
            checked={chosen.has(each.id)}
            onValue={(on) => {
              const next = new Set(chosen);
              if (on) next.add(each.id);
              else next.delete(each.id);
              onChosen(next);
            }}
          />
        ))}
        {shown.length === 0 && <span className="hint">Nothing matches.</span>}
      </div>
    </fieldset>
  );
}
