/** What a launch starts from, and when it can be sent. */
import { valueAt, type Draft } from "@/data/configs/draft";
import { toYaml } from "@/data/forms/yaml";
import { commandLine, type LaunchKind } from "@/data/launches";

/** The choices of the last launch of a kind, kept for the next one. */
export interface LastLaunch {
  workspaceId: number;
  template: string;
  pool: string;
  slots: number | undefined;
}

export const FIRST_LAUNCH: LastLaunch = { workspaceId: 0, template: "", pool: "", slots: undefined };

/** The text that a dialog opens with: the pool and slots of the last launch. */
export function launchStart({ pool, slots }: LastLaunch): string {
  const resources = { ...(pool ? { resource_pool: pool } : {}), ...(slots === undefined ? {} : { slots }) };
  return toYaml(Object.keys(resources).length > 0 ? { resources } : {});
}

export function lastOf(draft: Draft, workspaceId: number, template: string): LastLaunch {
  const pool = valueAt(draft, ["resources", "resource_pool"]);
  const slots = valueAt(draft, ["resources", "slots"]);
  return {
    workspaceId,
    template,
    pool: typeof pool === "string" ? pool : "",
    slots: typeof slots === "number" ? slots : undefined,
  };
}

/** Why a task cannot be launched, for reasons that the master's preview does not know. */
export function launchRefusal(kind: LaunchKind, draft: Draft, template: string, workspaceId: number): string | undefined {
  if (workspaceId === 0) return "You may start tasks in no workspace.";
  if (kind !== "command" || template) return undefined;
  return commandLine(valueAt(draft, ["entrypoint"])).trim() ? undefined : "Type the command to run.";
}

/** The workspace to start in: the last one if the user still may, else the first. */
export function firstWorkspace(allowed: readonly { id?: number }[], last: number): number {
  return allowed.some((each) => each.id === last) ? last : (allowed[0]?.id ?? 0);
}
