/** What a new experiment starts from, and what it will need. */
import type { PoolChoice } from "@/data/cluster/poolChoices";
import { openDraft, setAll, valueAt, type Draft } from "@/data/configs/draft";
import { textOf, type Upload } from "@/data/experiments/uploads";
import { plural } from "@/data/format/numbers";
import { toYaml } from "@/data/forms/yaml";

export interface ProjectPlace {
  workspace: string;
  project: string;
}

/** A configuration that came with the files. */
export interface FoundConfig {
  path: string;
  text: string;
}

const BLANK = {
  entrypoint: "python3 train.py",
  searcher: { name: "single", metric: "loss", smaller_is_better: true },
  resources: { slots_per_trial: 1 },
};
/** More is no configuration: the master takes 256 KiB. */
const MAX_CONFIG_BYTES = 256 * 1024;
const MAX_CONFIGS = 8;

/** The text of a form without files; a template has its own values, which a text would replace. */
export function blankStart(place: ProjectPlace | undefined, template: string): string {
  return toYaml({ ...place, ...(template ? {} : BLANK) });
}

/** The text with a project, where it names none. */
export function placed(text: string, place: ProjectPlace | undefined): string {
  const { value } = openDraft(text);
  if (!place || "workspace" in value || "project" in value) return text;
  return setAll(text, Object.entries(place).map(([key, name]) => [[key], name] as const));
}

/** YAML files that configure an experiment; those at the root come first. */
export async function configsIn(files: readonly Upload[]): Promise<FoundConfig[]> {
  const levels = ({ path }: Upload) => path.split("/").length;
  const texts = files.filter(({ path, size }) => /\.ya?ml$/i.test(path) && size <= MAX_CONFIG_BYTES);
  const read = [...texts].sort((a, b) => levels(a) - levels(b)).slice(0, 4 * MAX_CONFIGS);
  const all = await Promise.all(read.map(async ({ path, file }) => ({ path, text: await textOf(file) })));
  return all.filter(({ text }) => isConfig(openDraft(text))).slice(0, MAX_CONFIGS);
}

function isConfig({ value }: Draft): boolean {
  return "searcher" in value || "entrypoint" in value;
}

/** The program that the entrypoint names and that is not among the files. */
export function missingProgram(draft: Draft, files: readonly Upload[]): string | undefined {
  const entrypoint = valueAt(draft, ["entrypoint"]);
  const words = Array.isArray(entrypoint) ? entrypoint.map(String) : String(entrypoint ?? "").split(/\s+/);
  const program = words.find((word) => /^[\w.][\w./-]*\.(py|sh)$/.test(word))?.replace(/^(\.\/)+/, "");
  return program && !files.some(({ path }) => path === program) ? program : undefined;
}

/** How many slots the trials need, and whether the pool has them now. */
export function needWords(trials: number, draft: Draft, pool: PoolChoice | undefined, waiting: number): string {
  const each = numberAt(draft, ["resources", "slots_per_trial"], 1);
  // A single trial has no `max_concurrent_trials`; 0 is no limit.
  const atOnce = Math.min(trials, numberAt(draft, ["searcher", "max_concurrent_trials"], 16) || trials);
  const slots = `${plural(trials, "trial")} of ${plural(each, "slot")}`;
  const needs = trials > 1 ? `${slots}, at most ${plural(atOnce * each, "slot")} at once.` : `${slots}.`;
  if (!pool || pool.total === undefined || each === 0) return needs;
  const free = `Pool ${pool.name} has ${plural(pool.free, "free slot")}`;
  if (waiting > 0) return `${needs} ${free}, and ${plural(waiting, "job waits", "jobs wait")} there.`;
  return `${needs} ${free}, and no job waits there: ${pool.free >= each ? "it would start at once" : "it would wait for slots"}.`;
}

function numberAt(draft: Draft, path: string[], fallback: number): number {
  const value = valueAt(draft, path);
  return typeof value === "number" && value >= 0 ? value : fallback;
}
