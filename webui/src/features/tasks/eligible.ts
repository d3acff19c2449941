/** Which acts a task takes now. */
import { isFinished, stateFamily, stateWord } from "@/data/states";
import type { InteractiveTask } from "@/data/tasks";

export type TaskAct = "pause" | "unpause" | "kill";

/** Why the act is not possible now; undefined when it is. */
export function refusalOf(act: TaskAct, task: InteractiveTask): string | undefined {
  if (isFinished(task.state)) return "The task has ended.";
  if (act === "kill") return undefined;
  if (!task.generic) return "Only generic tasks can be paused.";
  if (!task.generic.canPause) return "The task was created with no_pause: kill it instead.";
  const family = stateFamily(task.state);
  if (stateWord(task.state) === "STOPPING_PAUSED") return "The task is about to pause.";
  if (act === "unpause") return family === "paused" ? undefined : "The task is not paused.";
  if (family === "paused") return "The task is paused already.";
  return family === "stopping" ? "The task is being ended." : undefined;
}

/** The tasks of a selection that take the act, and how many do not. */
export function eligibleFor(act: TaskAct, tasks: readonly InteractiveTask[]) {
  const eligible = tasks.filter((task) => refusalOf(act, task) === undefined);
  return { eligible, others: tasks.length - eligible.length };
}

export interface TreeRow {
  task: InteractiveTask;
  depth: number;
}

/** A tree as rows, each task below its parent. A task whose parent is hidden stands at the top. */
export function treeRows(tasks: readonly InteractiveTask[]): TreeRow[] {
  const known = new Set(tasks.map((task) => task.id));
  const parentOf = (task: InteractiveTask) => (known.has(task.generic?.parentId ?? "") ? (task.generic?.parentId ?? "") : "");
  const below = new Map<string, InteractiveTask[]>();
  for (const task of tasks) below.set(parentOf(task), [...(below.get(parentOf(task)) ?? []), task]);
  const rows: TreeRow[] = [];
  const add = (id: string, depth: number) => {
    for (const task of below.get(id) ?? []) {
      rows.push({ task, depth });
      add(task.id, depth + 1);
    }
  };
  add("", 0);
  return rows;
}
