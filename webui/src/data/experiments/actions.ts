/** The actions on experiments and trials, as the master's catalogue has them. */
import { request } from "@/api/client";
import type { Permission } from "@/data/permissions/permissions";
import type { Table } from "@/data/query/fields";

import { rules } from "../rules";
import { stateWord } from "../states";

export type ActionId = (typeof rules.experiments.actions)[number]["id"];

interface ActionRequest {
  method: string;
  path: string;
}

export interface Action {
  id: ActionId;
  label: string;
  done: string;
  needs: Permission;
  states: readonly string[];
  otherwise: string;
  archived: boolean | null;
  includesDetached: boolean;
  includesParts: boolean;
  inverse: ActionId | "";
  warning: string;
  isDestructive: boolean;
  experiments: ActionRequest;
  trials: ActionRequest | null;
}

export const ACTIONS: readonly Action[] = rules.experiments.actions;

export function actionOf(id: ActionId): Action {
  const action = ACTIONS.find((each) => each.id === id);
  if (!action) throw new Error(`There is no action ${id}.`);
  return action;
}

export function requestOf(action: Action, table: Table): ActionRequest | null {
  return table === "run" ? action.trials : action.experiments;
}

/** What eligibility depends on. */
export interface Subject {
  state: string;
  archived: boolean;
  parentArchived: boolean;
  isMultitrial: boolean;
  unmanaged: boolean;
}

/** Why the action is not possible; it continues "it is". */
export function refusal(action: Action, subject: Subject, table: Table): string | undefined {
  const { detached, part, inArchive } = rules.experiments;
  if (subject.unmanaged && !action.includesDetached) return detached;
  if (table === "run" && subject.isMultitrial && !action.includesParts) return part;
  if (action.archived !== null && subject.parentArchived) return inArchive;
  if (action.archived !== null && subject.archived !== action.archived) return subject.archived ? "archived" : "not archived";
  return action.states.includes(stateWord(subject.state)) ? undefined : action.otherwise;
}

export interface Result {
  id: number;
  /** Empty for success. */
  error: string;
}

/** The master takes long lists, but a request stays small and its progress visible. */
const CHUNK = 500;

/** Does the action to all; a move also names the project that receives them. */
export async function perform(
  action: Action,
  table: Table,
  projectId: number,
  ids: readonly number[],
  destinationProjectId = 0,
): Promise<Result[]> {
  const route = requestOf(action, table);
  if (!route) throw new Error(`${action.label} is not an action on trials.`);
  const path = route.path.replace("{project_id}", String(projectId));
  const places =
    action.id !== "move" ? { projectId } : table === "run" ? { sourceProjectId: projectId, destinationProjectId } : { projectId, destinationProjectId };
  const results: Result[] = [];
  for (let at = 0; at < ids.length; at += CHUNK) {
    const chunk = ids.slice(at, at + CHUNK);
    const body = { ...places, [table === "run" ? "runIds" : "experimentIds"]: chunk };
    const page = await request<{ results?: Partial<Result>[] }>(route.method, path, { body });
    results.push(...(page.results ?? []).map(({ id = 0, error = "" }) => ({ id, error })));
  }
  return results;
}
