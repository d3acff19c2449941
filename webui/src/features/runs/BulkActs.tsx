import { useState } from "react";

import { plural } from "@/data/format/numbers";
import { useRights } from "@/data/permissions/permissions";
import type { Table } from "@/data/query/fields";
import { Button } from "@/ui/button/Button";
import { toast } from "@/ui/feedback/toast";
import { later } from "@/ui/later";
import { Dialog } from "@/ui/overlay/Dialog";

import { ACTS, perform, type Act, type ActId, type Result } from "./acts";
import type { Item } from "./item";
import styles from "./Runs.module.css";

const MoveDialog = later(async () => ({ default: (await import("./MoveDialog")).MoveDialog }));

interface Plan {
  act: Act;
  eligible: Item[];
  others: Item[];
}

/**
 * The acts on a selection: a dry run says how many are eligible, then each result is reported.
 *
 * What has an inverse is done at once and offers to undo it; the rest asks first.
 */
export function useBulkActs({
  table,
  projectId,
  workspaceId,
  onDone,
}: {
  table: Table;
  projectId: number;
  workspaceId: number | undefined;
  onDone(): void;
}) {
  const { may } = useRights();
  const [plan, setPlan] = useState<Plan>();
  const [failures, setFailures] = useState<{ title: string; results: Result[] }>();
  const word = table === "run" ? "trial" : "experiment";
  const counted = (count: number) => plural(count, word);

  const report = (act: Act, results: Result[], undo: (() => void) | undefined) => {
    const failed = results.filter((each) => each.error);
    const done = results.length - failed.length;
    if (done > 0) toast.done(`${act.label.replace("…", "")}: ${counted(done)}.`, undo);
    if (failed.length > 0) setFailures({ title: `${act.label.replace("…", "")}: ${counted(failed.length)} failed`, results: failed });
  };

  const execute = async (act: Act, items: readonly Item[], destination = 0) => {
    setPlan(undefined);
    const ids = items.map((item) => item.id);
    try {
      const results = await perform(act.id, table, projectId, ids, destination);
      const succeeded = results.filter((each) => !each.error).map((each) => each.id);
      const undo = () => void revert(act, succeeded, destination);
      report(act, results, act.inverse && succeeded.length > 0 ? undo : undefined);
    } catch (error) {
      toast.failed(act.label, error);
    }
    onDone();
  };

  const revert = async (act: Act, ids: number[], destination: number) => {
    const inverse = ACTS.find((each) => each.id === act.inverse);
    if (!inverse) return;
    try {
      const from = act.id === "move" ? destination : projectId;
      report(inverse, await perform(inverse.id, table, from, ids, projectId), undefined);
    } catch (error) {
      toast.failed(`Undo ${act.label}`, error);
    }
    onDone();
  };

  const start = (id: ActId, items: readonly Item[]) => {
    const act = ACTS.find((each) => each.id === id);
    if (!act) return;
    const eligible = items.filter((item) => act.isEligible(item, table));
    const others = items.filter((item) => !act.isEligible(item, table));
    if (act.asks || act.id === "move" || others.length > 0) setPlan({ act, eligible, others });
    else void execute(act, eligible);
  };

  const offered = ACTS.filter(
    (act) => (table === "experiment" || act.id !== "cancel") && may(act.needs, workspaceId),
  );
  const element = (
    <>
      {plan?.act.id === "move" && (
        <MoveDialog
          projectId={projectId}
          summary={summaryOf(plan, counted)}
          disabledReason={plan.eligible.length === 0 ? "None of them can be moved." : undefined}
          onClose={() => setPlan(undefined)}
          onMove={(destination) => void execute(plan.act, plan.eligible, destination)}
        />
      )}
      {plan && plan.act.id !== "move" && (
        <Dialog
          open
          onClose={() => setPlan(undefined)}
          title={`${plan.act.label} ${counted(plan.eligible.length)}?`}
          footer={
            <>
              <Button onClick={() => setPlan(undefined)}>Cancel</Button>
              <Button
                look={plan.act.danger ? "danger" : "primary"}
                disabledReason={plan.eligible.length === 0 ? "None of them is eligible." : undefined}
                onClick={() => void execute(plan.act, plan.eligible)}
              >
                {plan.act.label} {counted(plan.eligible.length)}
              </Button>
            </>
          }
        >
          {summaryOf(plan, counted)}
        </Dialog>
      )}
      {failures && (
        <Dialog open onClose={() => setFailures(undefined)} title={failures.title}>
          <ul className={styles.results}>
            {failures.results.map(({ id, error }) => (
              <li key={id}>
                {word} {id}: {error}
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </>
  );
  return { acts: offered, start, element };
}

function summaryOf({ act, eligible, others }: Plan, counted: (count: number) => string) {
  return (
    <div className="stack">
      <p>
        {counted(eligible.length)} eligible
        {others.length > 0 && `, ${counted(others.length)} left out: ${act.rule}`}.
        {act.asks && act.id !== "cancel" && " This cannot be undone."}
      </p>
      {others.length > 0 && (
        <details>
          <summary>Left out</summary>
          <div className={styles.results}>{others.map((item) => item.id).join(", ")}</div>
        </details>
      )}
    </div>
  );
}
