/** The refusals of the master, each at the field and the line that it is about. */
import { isMap, isScalar } from "yaml";

import { lineOf } from "../forms/yaml";
import { lineAt, type Draft, type Path } from "./draft";

export interface Problem {
  message: string;
  /** The field, as far as the text names one. */
  path: Path | undefined;
  /** From 1. */
  line: number | undefined;
}

const FIELD = /^.*?<config>(.*)$/s;
const YAML_LINE = /\bline (\d+): (.*)$/s;
/** What the master says before it comes to the point. */
const PREFIX = /^(failed to prepare launch params: |invalid (experiment|resource) configuration: |config is invalid or incomplete: )+/;
const UNKNOWN_KEY = /additionalProperties "(.*?)…?" not allowed/;

/** The problems in a message, in the order of their lines; those without a line come first. */
export function problemsOf(message: string, draft: Draft): Problem[] {
  const found = message
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => problemOf(line, draft));
  return found.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

/** The message for one field of a form, without the field's own name; problems below it count, too. */
export function problemAt(problems: readonly Problem[], path: Path): string | undefined {
  const message = problems.find((each) => each.path && path.every((key, at) => String(each.path?.[at]) === String(key)))?.message;
  const name = path.join(".");
  return message?.startsWith(`${name}: `) ? message.slice(name.length + 2) : message?.startsWith(`${name}.`) ? message.slice(name.length + 1) : message;
}

/** Problems that none of these fields shows. */
export function elsewhere(problems: readonly Problem[], shown: readonly Path[]): Problem[] {
  return problems.filter((each) => !shown.some((path) => problemAt([each], path) !== undefined));
}

function problemOf(said: string, draft: Draft): Problem {
  const text = said.replace(PREFIX, "");
  const field = FIELD.exec(text);
  if (field) {
    const { path, rest } = readPath(field[1] ?? "", draft);
    const unknown = UNKNOWN_KEY.exec(rest)?.[1];
    const full = unknown === undefined ? path : [...path, unknown];
    const name = path.length > 0 ? `${path.join(".")}: ` : "";
    return { message: name + rest, path: full, line: lineAt(draft, full) ?? 1 };
  }
  const broken = YAML_LINE.exec(text);
  if (broken) return { message: broken[2] ?? text, path: undefined, line: Number(broken[1]) };
  const named = namedPath(text, draft);
  return { message: text, path: named, line: (named && lineAt(draft, named)) ?? lineOf(draft.text, text) };
}

/**
 * The path at the start of `.searcher.max_trials: must be …`, and the words after it.
 *
 * Names of hyperparameters may contain dots and colons, so names of the text are tried first.
 */
function readPath(text: string, draft: Draft): { path: (string | number)[]; rest: string } {
  const path: (string | number)[] = [];
  let rest = text;
  let node: unknown = draft.document.contents;
  for (;;) {
    const known = isMap(node)
      ? node.items
          .map((pair) => ({ key: isScalar(pair.key) ? String(pair.key.value) : "", value: pair.value }))
          .filter(({ key }) => key && new RegExp(`^\\.${escaped(key)}(?=[.[:]|$)`).test(rest))
          .sort((a, b) => b.key.length - a.key.length)[0]
      : undefined;
    if (known) {
      path.push(known.key);
      rest = rest.slice(known.key.length + 1);
      node = known.value;
      continue;
    }
    const index = /^\[(\d+)\]/.exec(rest);
    const name = index ?? /^\.([^.:[\s]+)/.exec(rest);
    if (!name?.[1]) break;
    path.push(index ? Number(name[1]) : name[1]);
    rest = rest.slice(name[0].length);
    node = index && typeof node === "object" && node !== null && "items" in node ? (node.items as unknown[])[Number(name[1])] : undefined;
  }
  return { path, rest: rest.replace(/^:?\s*/, "") };
}

/** A dotted name that the text has, as in `resources.slots is 9, the pool has 4`. */
function namedPath(text: string, draft: Draft): Path | undefined {
  for (const [name] of text.matchAll(/[a-z_]+(?:\.[a-z_]+)+/g)) {
    const path = name.split(".");
    if (draft.document.hasIn(path.slice(0, 1)) || /^(resources|searcher|environment)\./.test(name)) return path;
  }
  return undefined;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
