import { useQuery } from "@tanstack/react-query";

import { valueAt } from "@/data/configs/draft";
import { hasNoRange, rowsOf } from "@/data/configs/hyperparameters";
import { elsewhere } from "@/data/configs/problems";
import type { FullTime } from "@/data/configs/searcher";
import { previewSearch, type PlannedRuns } from "@/data/experiments/submissions";
import { plural } from "@/data/format/numbers";
import { Notice } from "@/ui/layout/Notice";

import type { Editing } from "./editing";
import { WordField } from "./fields";
import { HyperparameterTable, shownHyperparameters } from "./HyperparameterTable";
import { PlaceFields, useWorkspaceId } from "./PlaceFields";
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

/** What the search does, by the master's own arithmetic. */
function Plan({ editing }: { editing: Editing }) {
  const { searcher, hyperparameters } = editing.draft.value;
  const plan = useQuery({
    queryKey: ["preview-search", JSON.stringify([searcher, hyperparameters])],
    queryFn: ({ signal }) => previewSearch(editing.draft.value, signal),
    enabled: editing.problems.length === 0,
    placeholderData: (old) => old,
    retry: false,
    staleTime: Infinity,
  });
  if (!plan.data || plan.error || editing.problems.length > 0) return null;
  return <p role="status">{planWords(plan.data)}</p>;
}

export function planWords(plan: readonly PlannedRuns[]): string {
  const total = plan.reduce((sum, each) => sum + each.count, 0);
  const parts = plan.map(({ count, until }) => `${count} ${until ? `up to ${until}` : "in full"}`);
  const made = `The search makes ${plural(total, "trial")}`;
  return plan.length > 1 || plan[0]?.until ? `${made}: ${parts.join(", ")}.` : `${made}.`;
}
