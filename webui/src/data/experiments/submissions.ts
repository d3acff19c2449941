/** Requests that make experiments, or let ended ones continue. */
import { answer, api, type Schemas } from "@/api/client";

import type { Accepted } from "../configs/checked";
import { modelDefinition, type Upload } from "./uploads";

const SLOTS_WARNING = "The pool has fewer slots now than a trial requests: the trials wait until it has more.";

type Created = Schemas["CreateExperimentResponse"];

/** What an experiment starts from besides its text: the files of another one, or a template. */
export interface Basis {
  parentId?: number;
  template?: string;
}

export interface Submission extends Basis {
  text: string;
  activate: boolean;
  files?: readonly Upload[];
}

/** Checks a configuration and makes nothing. */
export async function validateExperiment(
  text: string,
  { parentId, template }: Basis,
  signal: AbortSignal,
): Promise<Accepted> {
  let headers = new Headers();
  const got = await answer<Created>(
    api
      .POST("/api/v1/experiments", {
        body: { config: configOf(text), validateOnly: true, activate: false, ...basisOf({ parentId, template }) },
        signal,
      })
      .then((result) => {
        headers = result.response.headers;
        return result;
      }),
  );
  return { warnings: [...slotWarnings(got.warnings), ...configWarnings(headers.get("x-determined-config-warnings"))] };
}

/** Makes the experiment; a repeated `key` gives the same one again, so a retry makes no second. */
export async function submitExperiment({ text, activate, files = [], ...basis }: Submission, key: string): Promise<number> {
  const got = await answer<Created>(
    api.POST("/api/v1/experiments", {
      body: { config: configOf(text), activate, modelDefinition: await modelDefinition(files), ...basisOf(basis) },
      headers: { "idempotency-key": key },
    }),
  );
  return got.experiment?.id ?? 0;
}

/** A template may have all values: the master takes an object without any, and no empty text. */
function configOf(text: string): string {
  return text.trim() || "{}";
}

function basisOf({ parentId, template }: { parentId?: number | undefined; template?: string | undefined }): Basis {
  return { ...(parentId ? { parentId } : {}), ...(template ? { template } : {}) };
}

/** Lets an ended experiment continue; `override` is laid over its configuration. */
export async function continueExperiment(id: number, override: string): Promise<void> {
  await answer(api.POST("/api/v1/experiments/continue", { body: { id, overrideConfig: override } }));
}

/** One key for each request that differs; the same request again has the same one. */
export function idempotencyKeys(): (submission: Submission) => string {
  const made = new Map<string, string>();
  return (submission) => {
    const body = JSON.stringify(submission);
    const key = made.get(body) ?? `webui-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
    made.set(body, key);
    return key;
  };
}

export function slotWarnings(warnings: readonly string[] | undefined): string[] {
  return warnings?.includes("LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED") ? [SLOTS_WARNING] : [];
}

/** Warnings about the text: a JSON list in a header of the answer. */
export function configWarnings(header: string | null): string[] {
  if (!header) return [];
  try {
    const found: unknown = JSON.parse(header);
    return Array.isArray(found) ? found.map((each) => String(each).replace(/^<config>\.?/, "")) : [];
  } catch {
    return [header];
  }
}

export interface PlannedRuns {
  count: number;
  /** Empty when the runs train in full. */
  until: string;
}

/** How many runs a search makes, and how long each trains if it is not stopped before. */
export async function previewSearch(config: Record<string, unknown>, signal: AbortSignal): Promise<PlannedRuns[]> {
  const { searcher, hyperparameters } = config;
  const got = await answer(
    api.POST("/api/v1/preview-hp-search", { body: { config: { searcher, hyperparameters: hyperparameters ?? {} } }, signal }),
  );
  return (got.summary?.trials ?? []).map(({ count = 0, unit }) => ({
    count,
    until: unit?.maxLength || !unit?.value ? "" : `${unit.value} ${unit.name ?? ""}`.trim(),
  }));
}
