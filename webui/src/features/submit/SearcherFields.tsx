import { useRef } from "react";

import { valueAt } from "@/data/configs/draft";
import { isMapping } from "@/data/configs/hyperparameters";
import { elsewhere } from "@/data/configs/problems";
import { methodOf, METHODS, withMethod, type FullTime, type Method } from "@/data/configs/searcher";
import { Checkbox, Segments } from "@/ui/field/Field";

import type { Editing } from "./editing";
import { ChoiceField, ValueField, WordField } from "./fields";
import { Problems } from "./Problems";
import styles from "./Submit.module.css";

const MODES = [
  { value: "aggressive", label: "Aggressive: stops most trials early" },
  { value: "standard", label: "Standard" },
  { value: "conservative", label: "Conservative: lets most trials train on" },
];

const SHOWN = ["metric", "smaller_is_better", "max_trials", "max_concurrent_trials", "mode", "time_metric", "max_time", "divisor", "max_rungs"];

/** The method of a search and its limits. */
export function SearcherFields({ editing, full }: { editing: Editing; full?: FullTime | undefined }) {
  const searcher = valueAt(editing.draft, ["searcher"]);
  const method = methodOf(searcher);
  const at = (name: string) => ["searcher", name];
  const of = editing.problems.filter((each) => each.path?.[0] === "searcher");
  // Values that the other method lacks come back with the method that has them.
  const typed = useRef<Record<string, unknown>>({});
  const choose = (next: Method) => {
    typed.current = { ...typed.current, ...(isMapping(searcher) ? searcher : {}) };
    editing.set(["searcher"], withMethod(typed.current, next, full));
  };
  const small = valueAt(editing.draft, at("smaller_is_better")) !== false;
  return (
    <fieldset className={styles.group}>
      <legend>Search</legend>
      <Problems problems={elsewhere(of, SHOWN.map(at))} />
      {method && (
        <div className="row" style={{ gap: 12 }}>
          <Segments label="Search method" value={method} options={METHODS} onValue={choose} />
          <span className="hint">{METHODS.find((each) => each.value === method)?.hint}</span>
        </div>
      )}
      <div className={styles.grid}>
        <WordField editing={editing} path={at("metric")} label="Validation metric" />
        {method !== "grid" && (
          <ValueField editing={editing} path={at("max_trials")} label="Trials in all" placeholder="16" />
        )}
        <ValueField
          editing={editing}
          path={at("max_concurrent_trials")}
          label="Trials at once"
          placeholder="16"
          hint="0 for no limit"
        />
        {method === "adaptive_asha" && (
          <>
            <WordField editing={editing} path={at("time_metric")} label="Time metric" placeholder="batches" hint="Reported with each validation" />
            <ValueField editing={editing} path={at("max_time")} label="Time of a full trial" hint="In units of the time metric" />
            <ChoiceField editing={editing} path={at("mode")} label="Early stopping" options={MODES} />
            <ValueField editing={editing} path={at("divisor")} label="One of so many continues" placeholder="4" />
            <ValueField editing={editing} path={at("max_rungs")} label="Rungs at most" placeholder="5" />
          </>
        )}
      </div>
      <div>
        <Checkbox
          label="A smaller value of the metric is better"
          checked={small}
          onValue={(on) => editing.set(at("smaller_is_better"), on)}
        />
      </div>
    </fieldset>
  );
}
