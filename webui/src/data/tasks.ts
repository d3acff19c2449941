/** Tasks other than trials: commands, notebooks, shells, TensorBoards, generic tasks. */
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { answer, api, request } from "@/api/client";
import { ApiError } from "@/api/errors";

import { keys } from "./keys";
import { usePollInterval, useTopic } from "./live";

export type TaskKind = "command" | "notebook" | "shell" | "tensorboard" | "generic";

export const TASK_KINDS: readonly TaskKind[] = ["command", "notebook", "shell", "tensorboard", "generic"];

export interface InteractiveTask {
  kind: TaskKind;
  id: string;
  jobId: string;
  name: string;
  state: string | undefined;
  userId: number | undefined;
  workspaceId: number | undefined;
  resourcePool: string | undefined;
  startTime: string | undefined;
  exitStatus: string | undefined;
  serviceAddress: string | undefined;
  experimentIds: number[];
  /** Of generic tasks alone. */
  generic?: GenericFacts;
}

export interface GenericFacts {
  projectId: number;
  slots: number;
  /** Why it failed. */
  reason: string;
  parentId: string;
  forkedFrom: string;
  canPause: boolean;
  endTime: string | undefined;
}

interface Wire {
  id?: string;
  jobId?: string;
  description?: string;
  state?: string;
  userId?: number;
  workspaceId?: number;
  resourcePool?: string;
  startTime?: string;
  exitStatus?: string;
  serviceAddress?: string;
  experimentIds?: number[];
}

/** The lists of tasks have no value for "all": a bound that no cluster reaches. */
const ALL = { params: { query: { limit: 10_000 } } } as const;

/** Tasks of all kinds, the newest first. */
export function useTasks() {
  const cache = useQueryClient();
  const poll = usePollInterval(5000);
  useTopic("tasks", () => void cache.invalidateQueries({ queryKey: keys.tasks() }));
  return useQuery({ queryKey: keys.tasks(), queryFn: readAll, refetchInterval: poll || 30_000 });
}

async function readAll(): Promise<InteractiveTask[]> {
  const [commands, notebooks, shells, tensorboards, generic] = await Promise.all([
    answer(api.GET("/api/v1/commands", ALL)),
    answer(api.GET("/api/v1/notebooks", ALL)),
    answer(api.GET("/api/v1/shells", ALL)),
    answer(api.GET("/api/v1/tensorboards", ALL)),
    readGeneric(`/api/ui/v1/generic-tasks?limit=${MAX_GENERIC}`),
  ]);
  const of = (kind: TaskKind, found: readonly Wire[] | undefined) =>
    (found ?? []).map((each) => taskOf(kind, each));
  return [
    ...of("command", commands.commands),
    ...of("notebook", notebooks.notebooks),
    ...of("shell", shells.shells),
    ...of("tensorboard", tensorboards.tensorboards),
    ...generic,
  ].sort((a, b) => (b.startTime ?? "").localeCompare(a.startTime ?? ""));
}

function taskOf(kind: TaskKind, wire: Wire): InteractiveTask {
  return {
    kind,
    id: wire.id ?? "",
    jobId: wire.jobId ?? "",
    name: wire.description || wire.id || "",
    state: wire.state,
    userId: wire.userId,
    workspaceId: wire.workspaceId,
    resourcePool: wire.resourcePool,
    startTime: wire.startTime,
    exitStatus: wire.exitStatus,
    serviceAddress: wire.serviceAddress,
    experimentIds: wire.experimentIds ?? [],
  };
}

const MAX_GENERIC = 2000;

interface WireGeneric extends GenericFacts {
  id: string;
  jobId: string;
  name: string;
  state: string;
  userId: number;
  workspaceId: number;
  resourcePool: string;
  startTime: string;
}

/** A master of 0.38 lists no generic tasks. */
async function readGeneric(path: string): Promise<InteractiveTask[]> {
  try {
    return (await request<{ tasks: WireGeneric[] }>("GET", path)).tasks.map(genericOf);
  } catch (error) {
    if (error instanceof ApiError && [404, 405, 501].includes(error.status)) return [];
    throw error;
  }
}

function genericOf({ id, jobId, name, state, userId, workspaceId, resourcePool, startTime, ...generic }: WireGeneric): InteractiveTask {
  const none = { exitStatus: generic.reason || undefined, serviceAddress: undefined, experimentIds: [] };
  return { kind: "generic", id, jobId, name, state, userId, workspaceId, resourcePool, startTime, ...none, generic };
}

/** The tasks of the tree that a generic task is in, the oldest first. */
export function useTaskTree(id: string, enabled: boolean) {
  const poll = usePollInterval(5000);
  return useQuery({
    queryKey: [...keys.tasks(), "tree", id],
    queryFn: () => readGeneric(`/api/ui/v1/tasks/${encodeURIComponent(id)}/tree`),
    enabled,
    refetchInterval: poll || 30_000,
  });
}

export async function killTask(task: Pick<InteractiveTask, "kind" | "id">): Promise<void> {
  const id = encodeURIComponent(task.id);
  const path = task.kind === "generic" ? `/api/v1/tasks/${id}/kill` : `/api/v1/${task.kind}s/${id}/kill`;
  await request("POST", path, task.kind === "generic" ? { body: {} } : {});
}

/** Releases the slots of a generic task and of those below it, or lets them continue. */
export async function pauseTask(id: string, pauses: boolean): Promise<void> {
  await request("POST", `/api/v1/tasks/${encodeURIComponent(id)}/${pauses ? "pause" : "unpause"}`);
}

export function useTaskConfig(id: string) {
  return useQuery({
    queryKey: ["task-config", id],
    queryFn: async () =>
      (await answer(api.GET("/api/v1/tasks/{task_id}/config", { params: { path: { task_id: id } } }))).config ?? "",
    staleTime: Infinity,
  });
}

/** Notebooks and TensorBoards have a page that the master proxies. */
export function hasPage(kind: string): boolean {
  return kind === "notebook" || kind === "tensorboard";
}

/** Notebooks and shells are entered by those with whom their owner shares them. */
export function isShared(kind: string): boolean {
  return kind === "notebook" || kind === "shell";
}

/** How to reach a task from a terminal. */
export function connectCommand({ kind, id }: Pick<InteractiveTask, "kind" | "id">): string {
  if (kind === "shell") return `det shell open ${id}`;
  if (kind === "generic") return `det task logs -f ${id}`;
  return hasPage(kind) ? `det ${kind} open ${id}` : `det command logs -f ${id}`;
}
