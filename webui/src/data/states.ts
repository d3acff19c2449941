import { rules } from "./rules";

/** Families of states: each has one colour and one shape in the whole UI. */
export type StateFamily =
  | "waiting"
  | "preparing"
  | "running"
  | "paused"
  | "done"
  | "failed"
  | "stopping"
  | "ended";

const FAMILIES: Record<string, StateFamily> = {
  ACTIVE: "running",
  RUNNING: "running",
  QUEUED: "waiting",
  SCHEDULED: "waiting",
  WAITING: "waiting",
  PENDING: "waiting",
  ASSIGNED: "preparing",
  PULLING: "preparing",
  STARTING: "preparing",
  IN_PROGRESS: "running",
  PAUSED: "paused",
  COMPLETED: "done",
  PARTIALLY_DELETED: "ended",
  ERROR: "failed",
  DELETE_FAILED: "failed",
  STOPPING: "stopping",
  STOPPING_PAUSED: "stopping",
  STOPPING_COMPLETED: "stopping",
  STOPPING_CANCELED: "stopping",
  STOPPING_KILLED: "stopping",
  STOPPING_ERROR: "stopping",
  TERMINATING: "stopping",
  DELETING: "stopping",
  TERMINATED: "ended",
  CANCELED: "ended",
  DELETED: "ended",
};

/** The word of a state without the prefixes of the wire (`STATE_`, `TASK_STATE_`). */
export function stateWord(state: string | undefined): string {
  return (state ?? "").replace(/^(GENERIC_TASK_|TASK_)?STATE_/, "") || "UNSPECIFIED";
}

export function stateFamily(state: string | undefined): StateFamily {
  return FAMILIES[stateWord(state)] ?? "ended";
}

/** The state as a person reads it: `Stopping (canceled)`. */
export function stateLabel(state: string | undefined): string {
  const word = stateWord(state);
  if (word === "ACTIVE") return "Running";
  const text = word.toLowerCase().replace(/_/g, " ");
  const label = text.charAt(0).toUpperCase() + text.slice(1);
  return label.replace(/^Stopping (\w+)$/, "Stopping ($1)");
}

/** True when nothing about the thing changes any more. */
export function isFinished(state: string | undefined): boolean {
  return !(rules.states.changing as readonly string[]).includes(stateWord(state));
}
