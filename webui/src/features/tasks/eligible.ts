/** Which acts a task takes now, by the master's catalogue. */
import { rules } from "@/data/rules";
import { stateWord } from "@/data/states";
import type { InteractiveTask } from "@/data/tasks";

export const TASK_ACTS = rules.tasks.actions;
export type TaskAct = (typeof TASK_ACTS)[number]["id"];

export function ruleOf(act: TaskAct) {
  const rule = TASK_ACTS.find(({ id }) => id === act);
  if (!rule) throw new Error(`There is no action ${act}.`);
  return rule;
}

/** Why the act is not possible now; undefined when it is. */
export function refusalOf(act: TaskAct, task: InteractiveTask): string | undefined {
  const { isGeneric, states, otherwise } = ruleOf(act);
  if (isGeneric && !task.generic) return `It is ${rules.tasks.notGeneric}.`;
  if (act === "pause" && !task.generic?.canPause) return `It is ${rules.tasks.noPause}.`;
  return (states as readonly string[]).includes(stateWord(task.state)) ? undefined : `It is ${otherwise}.`;
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
