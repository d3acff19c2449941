import { chosenPool, poolHint, slotsProblem, usePoolChoices } from "@/data/cluster/poolChoices";
import { textAt, valueAt } from "@/data/configs/draft";

import type { Editing } from "./editing";
import { ChoiceField, ValueField } from "./fields";

/** The pool with its limits, and the slots of one run or task. */
export function ResourceFields({
  editing,
  workspaceId,
  slots,
  label,
  onOneAgent,
}: {
  editing: Editing;
  workspaceId: number | undefined;
  /** The key with the number of slots: `slots_per_trial`, or `slots` of a task. */
  slots: string;
  label: string;
  /** All slots must be of one agent. */
  onOneAgent: boolean;
}) {
  const choices = usePoolChoices(workspaceId) ?? [];
  const path = ["resources", slots];
  const wanted = valueAt(editing.draft, path) ?? 1;
  const single = onOneAgent || valueAt(editing.draft, ["resources", "is_single_node"]) === true;
  const name = textAt(editing.draft, ["resources", "resource_pool"]);
  const pool = chosenPool(choices, name, typeof wanted === "number" ? wanted : 1);
  const fallback = chosenPool(choices, "", typeof wanted === "number" ? wanted : 1);
  return (
    <>
      <ChoiceField
        editing={editing}
        path={["resources", "resource_pool"]}
        label="Resource pool"
        options={[
          { value: "", label: fallback ? `Default (${fallback.name})` : "Default" },
          ...choices.map((each) => ({ value: each.name, label: each.name })),
        ]}
      />
      <ValueField
        editing={editing}
        path={path}
        label={label}
        placeholder="1"
        hint={poolHint(pool, single)}
        error={slotsProblem(pool, wanted, single)}
      />
    </>
  );
}
