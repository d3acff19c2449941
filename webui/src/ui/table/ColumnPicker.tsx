import { useMemo, useState } from "react";

import { groupDigits, plural } from "@/data/format/numbers";
import { withColumn, type TableState } from "@/data/view/tableState";

import { Button } from "../button/Button";
import { Checkbox, TextField } from "../field/Field";
import { Popover } from "../overlay/Popover";
import styles from "./DataTable.module.css";
import type { Column } from "./types";

/** A project may have 5,000 columns: the search narrows what is drawn. */
const MAX_DRAWN = 200;

/** Shows and hides columns. */
export function ColumnPicker<R>({
  columns,
  state,
  onState,
  onReset,
}: {
  columns: readonly Column<R>[];
  state: TableState;
  onState(next: TableState): void;
  onReset?(): void;
}) {
  return (
    <Popover
      label="Columns"
      align="end"
      trigger={
        <Button icon="columns">
          Columns
        </Button>
      }
    >
      <Choices {...{ columns, state, onState }} {...(onReset ? { onReset } : {})} />
    </Popover>
  );
}

function Choices<R>({
  columns,
  state,
  onState,
  onReset,
}: {
  columns: readonly Column<R>[];
  state: TableState;
  onState(next: TableState): void;
  onReset?(): void;
}) {
  const [text, setText] = useState("");
  const shown = useMemo(() => new Set(state.columns), [state.columns]);
  const word = text.trim().toLowerCase();
  const found = columns.filter(
    (each) => each.header.toLowerCase().includes(word) || each.id.toLowerCase().includes(word),
  );
  const drawn = found.slice(0, MAX_DRAWN);
  const groups = [...new Set(drawn.map((each) => each.group ?? ""))];
  const setAll = (on: boolean) =>
    onState(drawn.reduce((next, each) => withColumn(next, each.id, on), state));
  return (
    <div className={styles.picker}>
      <TextField label="Find a column" hideLabel placeholder="Find a column" value={text} onChange={(event) => setText(event.target.value)} />
      <div className={styles.pickerList} tabIndex={-1}>
        {groups.map((group) => (
          <div key={group} role="group" aria-label={group || "General"}>
            {group && <h3>{group}</h3>}
            {drawn
              .filter((each) => (each.group ?? "") === group)
              .map((each) => (
                <Checkbox
                  key={each.id}
                  label={each.header}
                  checked={shown.has(each.id)}
                  disabled={shown.size === 1 && shown.has(each.id)}
                  onValue={(on) => onState(withColumn(state, each.id, on))}
                />
              ))}
          </div>
        ))}
        {found.length === 0 && <p className="hint">No column has “{text}” in its name.</p>}
      </div>
      <p className="hint" role="status">
        {found.length === columns.length ? plural(columns.length, "column") : `${groupDigits(String(found.length))} of ${plural(columns.length, "column")}`}
        {found.length > drawn.length && `; the first ${MAX_DRAWN} are listed. Type a part of the name.`}
      </p>
      <div className="row">
        {word && found.length > 0 && (
          <>
            <Button small onClick={() => setAll(true)}>
              Show these
            </Button>
            <Button small onClick={() => setAll(false)}>
              Hide these
            </Button>
          </>
        )}
        {onReset && (
          <Button small look="quiet" onClick={onReset}>
            Reset
          </Button>
        )}
      </div>
    </div>
  );
}
