/** Acts on many runs or searches: who is eligible, the requests, and their inverses. */
import { answer, api } from "@/api/client";
import type { Permission } from "@/data/permissions/permissions";
import type { FieldFilter } from "@/data/query/compile";
import type { Table } from "@/data/query/fields";
import { isFinished, stateFamily, stateWord } from "@/data/states";
import type { IconName } from "@/ui/icons/Icon";

import type { Item } from "./item";

export type ActId = "pause" | "resume" | "cancel" | "kill" | "archive" | "unarchive" | "move" | "delete";

export interface Act {
  id: ActId;
  label: string;
  icon: IconName;
  danger?: boolean;
  /** Asked before, since it cannot be undone. */
  asks?: boolean;
  /** The act that undoes it. */
  inverse?: ActId;
  needs: Permission;
  isEligible(item: Item, table: Table): boolean;
  /** Why others are not eligible. */
  rule: string;
}

const isPart = (item: Item, table: Table) => table === "run" && item.isMultitrial;
const isStopping = (item: Item) => stateFamily(item.state) === "stopping";
const isOpen = (item: Item) => !isFinished(item.state);

export const ACTS: readonly Act[] = [
  {
    id: "pause",
    label: "Pause",
    icon: "pause",
    inverse: "resume",
    needs: "PERMISSION_TYPE_UPDATE_EXPERIMENT",
    isEligible: (item, table) =>
      isOpen(item) && !isStopping(item) && stateWord(item.state) !== "PAUSED" && !isPart(item, table) && !item.unmanaged,
    rule: "finished, paused, or one of several trials of an experiment",
  },
  {
    id: "resume",
    label: "Resume",
    icon: "play",
    inverse: "pause",
    needs: "PERMISSION_TYPE_UPDATE_EXPERIMENT",
    isEligible: (item, table) => stateWord(item.state) === "PAUSED" && !isPart(item, table) && !item.unmanaged,
    rule: "not paused, or one of several trials of an experiment",
  },
  {
    id: "cancel",
    label: "Stop",
    icon: "stop",
    asks: true,
    needs: "PERMISSION_TYPE_UPDATE_EXPERIMENT",
    isEligible: (item, table) => table === "experiment" && isOpen(item) && !isStopping(item) && !item.unmanaged,
    rule: "finished or stopping",
  },
  {
    id: "kill",
    label: "Kill",
    icon: "close",
    danger: true,
    asks: true,
    needs: "PERMISSION_TYPE_UPDATE_EXPERIMENT",
    isEligible: (item) => isOpen(item) && !item.unmanaged,
    rule: "finished",
  },
  {
    id: "archive",
    label: "Archive",
    icon: "archive",
    inverse: "unarchive",
    needs: "PERMISSION_TYPE_UPDATE_EXPERIMENT_METADATA",
    isEligible: (item) => !item.archived && !item.parentArchived && isFinished(item.state),
    rule: "archived or not finished",
  },
  {
    id: "unarchive",
    label: "Unarchive",
    icon: "archive",
    inverse: "archive",
    needs: "PERMISSION_TYPE_UPDATE_EXPERIMENT_METADATA",
    isEligible: (item) => item.archived && !item.parentArchived,
    rule: "not archived",
  },
  {
    id: "move",
    label: "Move…",
    icon: "move",
    inverse: "move",
    needs: "PERMISSION_TYPE_UPDATE_EXPERIMENT_METADATA",
    isEligible: (item, table) => !item.archived && !item.parentArchived && !isPart(item, table),
    rule: "archived, or one of several trials of an experiment",
  },
  {
    id: "delete",
    label: "Delete",
    icon: "trash",
    danger: true,
    asks: true,
    needs: "PERMISSION_TYPE_DELETE_EXPERIMENT",
    isEligible: (item) => isFinished(item.state),
    rule: "not finished",
  },
];

export interface Result {
  id: number;
  /** Empty for success. */
  error: string;
}

/** The master takes long lists, but a request stays small and its progress visible. */
const CHUNK = 500;

export async function perform(
  act: ActId,
  table: Table,
  projectId: number,
  ids: readonly number[],
  destinationProjectId = 0,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < ids.length; at += CHUNK) {
    const chunk = ids.slice(at, at + CHUNK);
    const found =
      table === "run"
        ? await onRuns(act, projectId, chunk, destinationProjectId)
        : await onSearches(act, projectId, chunk, destinationProjectId);
    results.push(...found.map(({ id = 0, error = "" }) => ({ id, error })));
  }
  return results;
}

type Partly = { results?: { id?: number; error?: string }[] };

async function onRuns(act: ActId, projectId: number, runIds: number[], destinationProjectId: number) {
  if (act === "move") {
    const body = { runIds, sourceProjectId: projectId, destinationProjectId };
    return resultsOf(answer(api.POST("/api/v1/runs/move", { body })));
  }
  if (act === "cancel") throw new Error("Trials are killed, experiments are stopped.");
  return resultsOf(answer(api.POST(`/api/v1/runs/${act}`, { body: { runIds, projectId } })));
}

async function onSearches(act: ActId, projectId: number, experimentIds: number[], destinationProjectId: number) {
  const params = { path: { project_id: projectId } };
  const body = { experimentIds, projectId };
  switch (act) {
    case "move":
      return resultsOf(
        answer(api.POST("/api/v1/projects/{project_id}/experiments/move", { params, body: { ...body, destinationProjectId } })),
      );
    case "delete":
      return resultsOf(answer(api.DELETE("/api/v1/projects/{project_id}/experiments/delete", { params, body })));
    default: {
      const verb = act === "resume" ? "activate" : act;
      return resultsOf(answer(api.POST(`/api/v1/projects/{project_id}/experiments/${verb}`, { params, body })));
    }
  }
}

async function resultsOf(request: Promise<Partly>) {
  return (await request).results ?? [];
}

/** Conditions that one of some ids holds for. */
export function anyOfIds(ids: readonly number[], table: Table): FieldFilter[] {
  return ids.map((value) => ({
    kind: "field",
    columnName: "id",
    location: table === "run" ? "LOCATION_TYPE_RUN" : "LOCATION_TYPE_EXPERIMENT",
    operator: "=",
    type: "COLUMN_TYPE_NUMBER",
    value,
  }));
}
