/** The configurations that forks, continuations and searches start from. */
import { constants, isMapping, shortened } from "../configs/hyperparameters";
import { fullTime, methodOf, singleFrom, withMethod } from "../configs/searcher";
import { toYaml } from "../forms/yaml";
import type { Experiment, Trial } from "./queries";

export interface Start {
  text: string;
  /** Values that the master hides from readers: they are left out, and named to the person. */
  hidden: string[];
}

/** What the master shows in place of a secret. */
const MASK = "********";
/** Their keys mean something even when they are null or empty. */
const FREE_FORM = new Set(["hyperparameters", "data"]);
/** A login without its password is refused: it is left out as a whole. */
const WHOLE = new Set(["registry_auth"]);
const FIRST = ["name", "description", "workspace", "project", "labels", "entrypoint", "searcher", "hyperparameters", "resources"];

/** The configuration that the source runs with, complete, without secrets and empty values. */
export function runtimeStart(experiment: Experiment): Start {
  const { config, hidden } = sourceConfig(experiment);
  return { text: toYaml(config), hidden };
}

/** The text as its author submitted it, with their comments; a template is not in it. */
export function submittedStart(experiment: Experiment): Start {
  return { text: experiment.originalConfig ?? "", hidden: [] };
}

export function forkStart(experiment: Experiment): Start {
  const { config, hidden } = sourceConfig(experiment);
  const name = String(config["name"] ?? `experiment ${experiment.id}`);
  return { text: toYaml({ ...config, name: name.startsWith("Fork of ") ? name : `Fork of ${name}` }), hidden };
}

/** A new experiment of one run that starts from a run's last checkpoint, or from the given one. */
export function continuationStart(experiment: Experiment, trial: Trial, checkpoint?: string): Start {
  const { config, hidden } = sourceConfig(experiment);
  const from = checkpoint ? { checkpoint } : { trialId: trial.id ?? 0 };
  return {
    text: toYaml({
      ...config,
      name: `Continuation of trial ${trial.id}, experiment ${experiment.id}`,
      searcher: singleFrom(config["searcher"], from),
      hyperparameters: constants(trial.hparams),
    }),
    hidden,
  };
}

/** A search around a run, or around an experiment; the person chooses what varies. */
export function searchStart(experiment: Experiment, trial: Trial | undefined): Start {
  const { config, hidden } = sourceConfig(experiment);
  const method = methodOf(config["searcher"]) ?? "adaptive_asha";
  return {
    text: toYaml({
      ...config,
      name: `Search from ${trial ? `trial ${trial.id}` : `experiment ${experiment.id}`}`,
      searcher: withMethod(config["searcher"], method, fullTime(config["searcher"], trial?.totalBatchesProcessed)),
      ...(trial ? { hyperparameters: constants(trial.hparams) } : {}),
    }),
    hidden,
  };
}

function sourceConfig(experiment: Experiment): { config: Record<string, unknown>; hidden: string[] } {
  const hidden: string[] = [];
  const all: Record<string, unknown> = {
    ...(cleaned(experiment.config ?? {}, [], hidden) as Record<string, unknown>),
    // The place where it is now, after moves.
    ...(experiment.workspaceName && experiment.projectName
      ? { workspace: experiment.workspaceName, project: experiment.projectName }
      : {}),
  };
  const config = Object.fromEntries(FIRST.filter((key) => key in all).map((key) => [key, all[key]]));
  return { config: { ...config, ...all, ...("hyperparameters" in all ? { hyperparameters: shortened(all["hyperparameters"]) } : {}) }, hidden };
}

/** Without nulls and empty maps, which mean the same as nothing, and without masks. */
function cleaned(value: unknown, path: string[], hidden: string[]): unknown {
  if (!isMapping(value)) return value;
  const isFree = FREE_FORM.has(path[0] ?? "");
  const kept: [string, unknown][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const here = [...path, key];
    if (inner === MASK || (WHOLE.has(key) && hasMask(inner))) {
      hidden.push(here.join("."));
      continue;
    }
    const result = cleaned(inner, here, hidden);
    const isEmpty = result === null || result === undefined || (isMapping(result) && Object.keys(result).length === 0);
    const isKept = !isEmpty || (isFree && result === inner) || here.join() === "hyperparameters";
    if (isKept) kept.push([key, result]);
  }
  return Object.fromEntries(kept);
}

function hasMask(value: unknown): boolean {
  return value === MASK || (isMapping(value) && Object.values(value).some(hasMask));
}
