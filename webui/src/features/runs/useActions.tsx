import { useState } from "react";

import { ACTIONS, actionOf, perform, refusal, requestOf, type Action, type ActionId, type Result } from "@/data/experiments/actions";
import { plural } from "@/data/format/numbers";
import { useRights } from "@/data/permissions/permissions";
import type { Table } from "@/data/query/fields";
import { Button } from "@/ui/button/Button";
import { toast } from "@/ui/feedback/toast";
import type { IconName } from "@/ui/icons/Icon";
import { later } from "@/ui/later";
import { Dialog } from "@/ui/overlay/Dialog";
import type { MenuEntry } from "@/ui/overlay/Menu";

import type { Item } from "./item";
import styles from "./Runs.module.css";

const MoveDialog = later(async () => ({ default: (await import("./MoveDialog")).MoveDialog }));

export const ICONS: Record<ActionId, IconName> = {
  pause: "pause",
  resume: "play",
  cancel: "stop",
  kill: "close",
  archive: "archive",
  unarchive: "archive",
  move: "move",
  delete: "trash",
};

interface Plan {
  action: Action;
  eligible: Item[];
  others: Item[];
}

/**
 * The actions on one thing of a page or on a selection: a dry run says how many are eligible, then
 * each result is reported.
 *
 * An action with an inverse is done at once, with a button that undoes it. The others ask first.
 */
export function useActions({
  table,
  projectId,
  workspaceId,
  onDone,
}: {
  table: Table;
  projectId: number;
  workspaceId: number | undefined;
  onDone(action: ActionId, succeeded: number): void;
}) {
  const { may } = useRights();
  const [plan, setPlan] = useState<Plan>();
  const [failures, setFailures] = useState<{ title: string; results: Result[] }>();
  const word = table === "run" ? "trial" : "experiment";
  const counted = (count: number) => plural(count, word);

  const report = (action: Action, results: Result[], undo?: () => void) => {
    const failed = results.filter((each) => each.error);
    const done = results.length - failed.length;
    const label = action.label.replace("…", "");
    if (done > 0) toast.done(done === 1 ? action.done : `${label}: ${counted(done)}.`, undo);
    if (failed.length > 0) setFailures({ title: `${label}: ${counted(failed.length)} failed`, results: failed });
  };

  const execute = async (action: Action, items: readonly Item[], destination = 0) => {
    setPlan(undefined);
    let succeeded: number[] = [];
    try {
      const results = await perform(action, table, projectId, items.map((item) => item.id), destination);
      succeeded = results.filter((each) => !each.error).map((each) => each.id);
      const undo = () => void revert(action, succeeded, destination);
      report(action, results, action.inverse && succeeded.length > 0 ? undo : undefined);
    } catch (error) {
      toast.failed(action.label, error);
    }
    onDone(action.id, succeeded.length);
  };

  const revert = async ({ id, label, inverse }: Action, ids: number[], destination: number) => {
    if (!inverse) return;
    try {
      const back = actionOf(inverse);
      report(back, await perform(back, table, id === "move" ? destination : projectId, ids, projectId));
    } catch (error) {
      toast.failed(`Undo ${label}`, error);
    }
    onDone(inverse, ids.length);
  };

  const start = (id: ActionId, items: readonly Item[]) => {
    const action = actionOf(id);
    const eligible = items.filter((item) => !refusal(action, item, table));
    const others = items.filter((item) => refusal(action, item, table));
    if (action.warning || id === "move" || others.length > 0) setPlan({ action, eligible, others });
    else void execute(action, eligible);
  };

  const actions = ACTIONS.filter((action) => requestOf(action, table) && may(action.needs, workspaceId));
  const menuOf = (item: Item, except: readonly ActionId[] = []): MenuEntry[] =>
    actions.filter(({ id }) => !except.includes(id)).map((action) => ({
      label: action.label,
      icon: ICONS[action.id],
      ...(action.isDestructive ? { danger: true } : {}),
      disabledReason: reasonOf(action, item, table),
      onSelect: () => start(action.id, [item]),
    }));
  const isMove = plan?.action.id === "move";
  const named = plan && (plan.eligible.length === 1 && plan.others.length === 0 ? `${word} ${plan.eligible[0]?.id}` : counted(plan.eligible.length));
  const element = (
    <>
      {plan && isMove && (
        <MoveDialog
          projectId={projectId}
          summary={summaryOf(plan, table, counted)}
          disabledReason={plan.eligible.length === 0 ? "None of them can be moved." : undefined}
          onClose={() => setPlan(undefined)}
          onMove={(destination) => void execute(plan.action, plan.eligible, destination)}
        />
      )}
      {plan && !isMove && (
        <Dialog
          open
          onClose={() => setPlan(undefined)}
          title={`${plan.action.label} ${named}?`}
          footer={
            <>
              <Button onClick={() => setPlan(undefined)}>Cancel</Button>
              <Button
                look={plan.action.isDestructive ? "danger" : "primary"}
                disabledReason={plan.eligible.length === 0 ? "None of them is eligible." : undefined}
                onClick={() => void execute(plan.action, plan.eligible)}
              >
                {plan.action.label} {named}
              </Button>
            </>
          }
        >
          {summaryOf(plan, table, counted)}
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
  return { actions, start, menuOf, element };
}

export function reasonOf(action: Action, item: Item, table: Table): string | undefined {
  const reason = refusal(action, item, table);
  return reason && `Not possible: it is ${reason}.`;
}

function summaryOf({ action, eligible, others }: Plan, table: Table, counted: (count: number) => string) {
  const reasons = new Set(others.map((item) => refusal(action, item, table)));
  return (
    <div className="stack">
      <p>
        {counted(eligible.length)} eligible
        {others.length > 0 && `, ${counted(others.length)} left out: ${[...reasons].join(", ")}`}.
        {action.warning && ` ${action.warning} This cannot be undone.`}
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
