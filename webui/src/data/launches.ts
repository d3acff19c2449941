/** Requests that start notebooks, shells and commands. */
import { answer, api, type Schemas } from "@/api/client";

import type { Accepted } from "./configs/checked";
import { slotWarnings } from "./experiments/submissions";

export type LaunchKind = "notebook" | "shell" | "command";

export interface Launch {
  config: Record<string, unknown>;
  template: string;
  workspaceId: number;
}

const SLOTS_WARNING = "The pool has fewer slots now than the task requests: it waits until there are more.";

function bodyOf({ config, template, workspaceId }: Launch): Schemas["LaunchShellRequest"] {
  return { config, workspaceId, ...(template ? { templateName: template } : {}) };
}

/**
 * Checks a configuration and completes it, and starts nothing.
 *
 * All of these tasks have the same configuration, so a preview of a notebook holds for each kind.
 */
export async function previewTask(
  launch: Launch,
  signal: AbortSignal,
): Promise<Accepted & { config: Record<string, unknown> }> {
  const got = await answer(api.POST("/api/v1/notebooks", { body: { ...bodyOf(launch), preview: true }, signal }));
  return { config: got.config ?? {}, warnings: slotWarnings(got.warnings).map(() => SLOTS_WARNING) };
}

export async function launchTask(kind: LaunchKind, launch: Launch): Promise<string> {
  const body = bodyOf(launch);
  switch (kind) {
    case "notebook":
      return (await answer(api.POST("/api/v1/notebooks", { body }))).notebook?.id ?? "";
    case "shell":
      return (await answer(api.POST("/api/v1/shells", { body }))).shell?.id ?? "";
    case "command":
      return (await answer(api.POST("/api/v1/commands", { body }))).command?.id ?? "";
  }
}

/** The words of a command as a person types them: one line for a shell. */
export function commandLine(entrypoint: unknown): string {
  if (!Array.isArray(entrypoint)) return typeof entrypoint === "string" ? entrypoint : "";
  const words = entrypoint.map(String);
  return isShell(words) ? (words[2] ?? "") : words.map(quoted).join(" ");
}

/** A line that a shell reads; an empty one is no command. */
export function entrypointOf(line: string): string[] | undefined {
  return line.trim() ? ["/bin/bash", "-c", line] : undefined;
}

function isShell(words: readonly string[]): boolean {
  return words.length === 3 && /(^|\/)(ba|z)?sh$/.test(words[0] ?? "") && words[1] === "-c";
}

function quoted(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}
