import { valueAt } from "@/data/configs/draft";
import { hasNoRange, rowsOf } from "@/data/configs/hyperparameters";
import { elsewhere } from "@/data/configs/problems";
import type { FullTime } from "@/data/configs/searcher";
import { Notice } from "@/ui/layout/Notice";

import type { Editing } from "./editing";
import { WordField } from "./fields";
import { HyperparameterTable, shownHyperparameters } from "./HyperparameterTable";
import { PlaceFields, useWorkspaceId } from "./PlaceFields";
import { planWords, useSearchPlan } from "./plan";
import { Problems } from "./Problems";
import { ResourceFields } from "./ResourceFields";
import { SearcherFields } from "./SearcherFields";
import styles from "./Submit.module.css";

const SHOWN = [["name"], ["workspace"], ["project"], ["searcher"], ["resources", "resource_pool"], ["resources", "slots_per_trial"]];

/** The method, what varies, and the resources of a search. */
export function SearchForm({ editing, full }: { editing: Editing; full: FullTime | undefined }) {
  const workspaceId = useWorkspaceId(editing);
  const rows = rowsOf(valueAt(editing.draft, ["hyperparameters"]));
  return (
    <>
      <Problems problems={elsewhere(editing.problems, [...SHOWN, ...shownHyperparameters(editing)])} />
      <SearcherFields editing={editing} full={full} />
      <Plan editing={editing} />
      <HyperparameterTable editing={editing} />
      {hasNoRange(rows) && (
        <Notice>All trials would have the same values. Give at least one hyperparameter choices or a range.</Notice>
      )}
      <fieldset className={styles.group}>
        <legend>Resources and place</legend>
        <div className={styles.grid}>
          <ResourceFields editing={editing} workspaceId={workspaceId} slots="slots_per_trial" label="Slots per trial" onOneAgent={false} />
          <div className={styles.wide}>
            <WordField editing={editing} path={["name"]} label="Name" placeholder="A random name" />
          </div>
          <PlaceFields editing={editing} />
        </div>
      </fieldset>
    </>
  );
}

function Plan({ editing }: { editing: Editing }) {
  const plan = useSearchPlan(editing);
  return plan ? <p role="status">{planWords(plan)}</p> : null;
}
