/**
 * A configuration as a person types it: the YAML text is the only state.
 *
 * A form reads values out of the text and writes single values into it. Comments, order and all
 * other lines stay, so form and editor can be used by turns.
 */
import {
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  Scalar,
  stringify,
  type Document,
  type Node,
} from "yaml";

import type { YamlError } from "../forms/yaml";

export type Path = readonly (string | number)[];

export interface Draft {
  text: string;
  /** Of the syntax; a form cannot write into a text that has one. */
  error: YamlError | undefined;
  /** Empty while the text has an error. */
  value: Record<string, unknown>;
  document: Document;
  lines: LineCounter;
}

const READ = { merge: true, prettyErrors: false } as const;

export function openDraft(text: string): Draft {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...READ, lineCounter: lines });
  const broken = document.errors[0];
  const draft = (error: YamlError | undefined, value: Record<string, unknown> = {}): Draft => ({
    text,
    error,
    value,
    document,
    lines,
  });
  if (broken) return draft({ line: lines.linePos(broken.pos[0]).line, message: firstLine(broken.message) });
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null))
    return draft(undefined);
  if (!isMap(document.contents)) return draft({ line: 1, message: "Write names and values, as `name: value`." });
  try {
    return draft(undefined, document.toJS() as Record<string, unknown>);
  } catch (error) {
    // Aliases that stand for too many values.
    return draft({ line: 1, message: error instanceof Error ? firstLine(error.message) : "The text cannot be read." });
  }
}

/** The value at a path, `undefined` where there is none. */
export function valueAt(draft: Draft, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) => (value !== null && typeof value === "object" ? (value as Record<string, unknown>)[key] : undefined),
    draft.value,
  );
}

/** The value at a path as it is typed in a field: `1e-4` stays `1e-4`, a list is in one line. */
export function textAt(draft: Draft, path: Path): string {
  if (draft.error) return "";
  const node = draft.document.getIn(path, true);
  if (node === undefined || node === null) return "";
  if (isScalar(node)) {
    if (node.value === null || node.value === undefined) return "";
    if (typeof node.value === "string") return node.value;
    return node.source ?? String(node.value);
  }
  return flow(valueAt(draft, path));
}

/** A value in one line, as a field shows it. */
export function flow(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  return stringify(value, { collectionStyle: "flow", lineWidth: 0, flowCollectionPadding: false }).trim();
}

/** What a person types into a field for any value: a number, a word, `[1, 2]`. */
export function typed(text: string): unknown {
  const node = typedNode(text);
  return isScalar(node) ? node.value : parseDocument(text).toJS();
}

/**
 * The text with another value at a path; `undefined` removes it, and sections that become empty.
 *
 * A text with an error stays as it is.
 */
export function setAt(text: string, path: Path, value: unknown): string {
  return change(text, (document) => write(document, path, value));
}

/** The text with what a person typed at a path, in the form in which they typed it. */
export function typeAt(text: string, path: Path, entry: string): string {
  return change(text, (document) => write(document, path, entry.trim() === "" ? undefined : typedNode(entry)));
}

/** Several values at once, as `setAt`. */
export function setAll(text: string, changes: readonly (readonly [Path, unknown])[]): string {
  return change(text, (document) => changes.forEach(([path, value]) => write(document, path, value)));
}

/** The line of the deepest part of a path that the text has, from 1; `undefined` for none of it. */
export function lineAt(draft: Draft, path: Path): number | undefined {
  let node: unknown = draft.document.contents;
  let line: number | undefined;
  for (const key of path) {
    const next = step(node, key);
    if (!next) break;
    node = next.value;
    if (next.at !== undefined) line = draft.lines.linePos(next.at).line;
  }
  return line;
}

function step(node: unknown, key: string | number): { value: unknown; at: number | undefined } | undefined {
  if (isMap(node)) {
    const pair = node.items.find((each) => isScalar(each.key) && String(each.key.value) === String(key));
    return pair && { value: pair.value, at: isScalar(pair.key) ? pair.key.range?.[0] : undefined };
  }
  if (isSeq(node)) {
    const item = node.items[Number(key)] as Node | undefined;
    return item && { value: item, at: item.range?.[0] };
  }
  return undefined;
}

function change(text: string, edit: (document: Document) => void): string {
  const document = parseDocument(text, READ);
  if (document.errors.length > 0) return text;
  edit(document);
  if (isMap(document.contents) && document.contents.items.length === 0) document.contents = null;
  if (document.contents === null && !document.comment && !document.commentBefore) return "";
  return document.toString({ lineWidth: 0, flowCollectionPadding: !/\{\S/.test(text) });
}

function write(document: Document, path: Path, value: unknown): void {
  if (value === undefined) {
    remove(document, path);
    return;
  }
  // A section that is null, as in `searcher:`, becomes a map.
  if (!isCollection(document.contents)) document.contents = null;
  for (let depth = 1; depth < path.length; depth += 1) {
    const part = path.slice(0, depth);
    const section = document.getIn(part, true);
    if (section !== undefined && !isCollection(section)) document.deleteIn(part);
    // `{}` grows in lines of its own.
    if (isMap(section) && section.items.length === 0) section.flow = false;
  }
  const old = document.getIn(path, true);
  const node = isNode(value) ? value : document.createNode(value);
  if (isScalar(old) && isScalar(node)) {
    if (old.comment) node.comment = old.comment;
    if (typeof node.value === "string" && typeof old.value === "string" && old.type) node.type = old.type;
  }
  document.setIn(path, node);
}

/** `hyperparameters` stays, though empty: a configuration has it. */
function remove(document: Document, path: Path): void {
  if (!document.hasIn(path)) return;
  document.deleteIn(path);
  const above = path.slice(0, -1);
  const section = above.length > 0 && above[0] !== "hyperparameters" ? document.getIn(above, true) : undefined;
  if (isMap(section) && section.items.length === 0 && !section.comment && !section.commentBefore) remove(document, above);
}

function isNode(value: unknown): value is Node {
  return value instanceof Scalar || isCollection(value);
}

function typedNode(text: string): Node {
  const document = parseDocument(text.trim(), { prettyErrors: false });
  const node = document.contents;
  // `a: b` in a field is a word with a colon, and so is all that is no YAML.
  const isPlain = isScalar(node) || (isCollection(node) && node.flow === true);
  if (document.errors.length > 0 || !isPlain || node.anchor) return new Scalar(text);
  node.comment = null;
  return node as Node;
}

function firstLine(message: string): string {
  return message.split("\n")[0] ?? message;
}
