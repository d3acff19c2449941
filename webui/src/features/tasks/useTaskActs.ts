import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { messageOf } from "@/api/errors";
import { plural } from "@/data/format/numbers";
import { keys } from "@/data/keys";
import { killTask, pauseTask, type InteractiveTask } from "@/data/tasks";
import { toast } from "@/ui/feedback/toast";
import { confirm } from "@/ui/overlay/confirm";

import { eligibleFor, ruleOf, type TaskAct } from "./eligible";

/** Acts on one task or several: those that do not take the act are left out and counted. */
export function useTaskActs() {
  const cache = useQueryClient();
  return useCallback(
    async (act: TaskAct, tasks: readonly InteractiveTask[]): Promise<boolean> => {
      const { eligible, others } = eligibleFor(act, tasks);
      const { done: doneWord, label } = ruleOf(act);
      if (eligible.length === 0) {
        toast.info(`None of ${plural(tasks.length, "task")} can be ${doneWord.toLowerCase()} now.`);
        return false;
      }
      if (act === "kill" && !(await confirm(killQuestion(eligible, others)))) return false;
      const results = await Promise.allSettled(eligible.map((task) => carryOut(act, task)));
      const refused = results.flatMap((each, at) =>
        each.status === "rejected" ? [`${eligible[at]?.name}: ${messageOf(each.reason)}`] : [],
      );
      const done = eligible.length - refused.length;
      const [only] = eligible;
      if (done > 0)
        toast.done(
          `${doneWord} ${done === 1 && eligible.length === 1 ? only?.name : plural(done, "task")}${others > 0 ? `; ${others} others do not take it now` : ""}`,
          act === "pause" ? () => void undo(eligible, cache) : undefined,
        );
      if (refused.length > 0) toast.error(`${label}: ${refused.slice(0, 5).join("; ")}${refused.length > 5 ? ` and ${refused.length - 5} more` : ""}`);
      await cache.invalidateQueries({ queryKey: keys.tasks() });
      return done > 0;
    },
    [cache],
  );
}

function carryOut(act: TaskAct, task: InteractiveTask): Promise<void> {
  return act === "kill" ? killTask(task) : pauseTask(task.id, act === "pause");
}

async function undo(tasks: readonly InteractiveTask[], cache: ReturnType<typeof useQueryClient>): Promise<void> {
  const results = await Promise.allSettled(tasks.map((task) => pauseTask(task.id, false)));
  const failed = results.filter((each) => each.status === "rejected").length;
  if (failed > 0) toast.error(`${plural(failed, "task")} cannot be unpaused.`);
  await cache.invalidateQueries({ queryKey: keys.tasks() });
}

function killQuestion(tasks: readonly InteractiveTask[], others: number) {
  const [only] = tasks;
  const isOne = tasks.length === 1 && only;
  const generic = tasks.some((task) => task.kind === "generic");
  return {
    title: isOne ? `Kill ${only.kind} ${only.name}?` : `Kill ${plural(tasks.length, "task")}?`,
    body: [
      isOne ? "It ends at once. Files outside of its mounts are lost." : "They end at once. Files outside of their mounts are lost.",
      generic && "Tasks below a generic task end with it.",
      others > 0 && `${plural(others, "selected task")} ended before.`,
    ]
      .filter(Boolean)
      .join(" "),
    action: isOne ? "Kill" : `Kill ${plural(tasks.length, "task")}`,
    danger: true,
  };
}
