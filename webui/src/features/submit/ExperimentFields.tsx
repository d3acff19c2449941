import { valueAt } from "@/data/configs/draft";
import { lengthOf, LENGTH_UNITS, methodOf } from "@/data/configs/searcher";
import { elsewhere, problemAt } from "@/data/configs/problems";
import { Select, TextField } from "@/ui/field/Field";

import type { Editing } from "./editing";
import { ValueField, WordField, useTyping } from "./fields";
import { HyperparameterTable, shownHyperparameters } from "./HyperparameterTable";
import { PlaceFields, useWorkspaceId } from "./PlaceFields";
import { Problems } from "./Problems";
import { ResourceFields } from "./ResourceFields";
import { SearcherFields } from "./SearcherFields";
import styles from "./Submit.module.css";

/** Fields of a form that show their own problems; all others are listed above the form. */
const SHOWN = [
  ["name"],
  ["workspace"],
  ["project"],
  ["entrypoint"],
  ["max_restarts"],
  ["resources", "resource_pool"],
  ["resources", "slots_per_trial"],
];

/** The common part of an experiment's configuration; the rest is in the YAML. */
export function ExperimentFields({ editing }: { editing: Editing }) {
  const workspaceId = useWorkspaceId(editing);
  const searches = methodOf(valueAt(editing.draft, ["searcher"])) !== undefined;
  const shown = [...SHOWN, ["searcher", ...(searches ? [] : ["max_length"])], ...shownHyperparameters(editing)];
  return (
    <>
      <Problems problems={elsewhere(editing.problems, shown)} />
      <fieldset className={styles.group}>
        <legend>Experiment</legend>
        <div className={styles.grid}>
          <div className={styles.wide}>
            <WordField editing={editing} path={["name"]} label="Name" placeholder="A random name" />
          </div>
          <PlaceFields editing={editing} />
          <div className={styles.wide}>
            <EntrypointField editing={editing} />
          </div>
        </div>
      </fieldset>
      <fieldset className={styles.group}>
        <legend>Resources</legend>
        <div className={styles.grid}>
          <ResourceFields editing={editing} workspaceId={workspaceId} slots="slots_per_trial" label="Slots per trial" onOneAgent={false} />
          <ValueField editing={editing} path={["max_restarts"]} label="Restarts after failures" placeholder="5" />
          {!searches && <LengthField editing={editing} />}
        </div>
      </fieldset>
      {searches && <SearcherFields editing={editing} />}
      <HyperparameterTable editing={editing} />
    </>
  );
}

function EntrypointField({ editing }: { editing: Editing }) {
  const isList = Array.isArray(valueAt(editing.draft, ["entrypoint"]));
  const Field = isList ? ValueField : WordField;
  return <Field editing={editing} path={["entrypoint"]} label="Entrypoint" placeholder="python3 train.py" />;
}

/** `searcher.max_length`: trial classes train so long; other scripts decide by themselves. */
function LengthField({ editing }: { editing: Editing }) {
  const path = ["searcher", "max_length"];
  const { unit, text } = lengthOf(valueAt(editing.draft, path));
  const write = (entry: string, of: string) => {
    if (!entry.trim()) editing.set(path, undefined);
    else if (of) editing.setAll([[path, { [of]: /^\d+$/.test(entry.trim()) ? Number(entry) : entry }]]);
    else editing.type(path, entry);
  };
  const typing = useTyping(text, (entry) => write(entry, unit || "batches"));
  return (
    <div className={styles.pair}>
      <TextField
        label="Max length"
        placeholder="Up to the script"
        inputMode="numeric"
        error={problemAt(editing.problems, path)}
        {...typing}
      />
      <Select
        label="Unit"
        value={unit || "batches"}
        onValue={(next) => write(text, next)}
        options={[...LENGTH_UNITS]}
      />
    </div>
  );
}
