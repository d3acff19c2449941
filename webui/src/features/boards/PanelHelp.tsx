import { useState } from "react";

import { Button } from "@/ui/button/Button";
import { PlainTable } from "@/ui/layout/Card";
import { Dialog } from "@/ui/overlay/Dialog";

import { KEYS, KINDS } from "./panels/read";
import type { PanelKind } from "./panels/types";

const SHOWS: Record<PanelKind, string> = {
  chart: "a metric of several trials over an axis",
  runs: "a table of trials",
  number: "one figure: a count, or one of a column's values",
  story: "the last events of an experiment, a trial or a task",
};

const MEANINGS: Record<string, string> = {
  metric: "group and name: validation.loss",
  query: "trials of the project, as in the query bar of its list: state:error hp.lr<0.1",
  project: "the id of another project that the query reads",
  experiment: "the id of an experiment",
  runs: "ids of trials: 12, 13",
  run: "the id of a trial",
  task: "the id of a task",
  sort: "columns, with a minus for descending: -startTime",
  limit: "how many trials at most",
  x: "batches, epochs, relative, time or metric:NAME",
  height: "of the plot in pixels, 120 to 800",
  columns: "names of columns: id, state, validation.loss, hp.lr",
  value: "a column: validation.loss",
  of: "count, min, max, mean, median, sum or latest",
  last: "how many events",
  level: "all, warning or error",
  title: "the heading",
  width: "full, half or third",
};

/** The panels with their keys. */
export function PanelHelp() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look="quiet" icon="info" onClick={() => setOpen(true)}>
        Panels
      </Button>
      <Dialog
        open={open}
        onClose={() => setOpen(false)}
        width={760}
        title="Panels of a board"
        description="A panel is a fenced block whose first line is ```panel and a kind. Its lines are key: value."
      >
        <div className="stack" style={{ gap: 20 }}>
          {KINDS.map((kind) => (
            <section key={kind} className="stack" style={{ gap: 6 }}>
              <h3>
                panel {kind}: <span style={{ fontWeight: 400 }}>{SHOWS[kind]}</span>
              </h3>
              <PlainTable label={`Keys of panel ${kind}`} columns={["Key", "Meaning"]}>
                {KEYS[kind].map((key) => (
                  <tr key={key}>
                    <td>
                      <code>{key}</code>
                    </td>
                    <td>{MEANINGS[key]}</td>
                  </tr>
                ))}
              </PlainTable>
            </section>
          ))}
        </div>
      </Dialog>
    </>
  );
}
