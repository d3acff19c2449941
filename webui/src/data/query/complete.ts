/** Proposals for the word at the cursor of a query bar. */
import { findField, type Fields } from "./fields";
import { quote } from "./print";

export interface Proposal {
  /** What stands in place of `from` to `to`. */
  text: string;
  label: string;
  hint: string;
}

export interface Completion {
  from: number;
  to: number;
  proposals: Proposal[];
}

/** Values by column: states, users, pools, tags. */
export type KnownValues = Readonly<Record<string, readonly string[]>>;

const MAX_PROPOSALS = 12;
const STATES = ["running", "queued", "paused", "completed", "error", "canceled", "stopping_canceled"];

export function complete(text: string, cursor: number, fields: Fields, known: KnownValues): Completion {
  const start = wordStart(text, cursor);
  const word = text.slice(start, cursor).replace(/^-+/, "");
  const from = cursor - word.length;
  const sign = /[:=<>!~]+/.exec(word);
  if (!sign) return { from, to: cursor, proposals: proposeNames(word, fields) };
  const field = findField(unquote(word.slice(0, sign.index)), fields);
  const typed = word.slice(sign.index + sign[0].length);
  const piece = typed.slice(typed.lastIndexOf(",") + 1).replace(/^"/, "");
  const begin = cursor - (typed.length - typed.lastIndexOf(",") - 1);
  const isHas = word.slice(0, sign.index).toLowerCase() === "has";
  const values = isHas ? [...fields.byName.keys()] : field ? valuesOf(field.column, known) : [];
  return { from: begin, to: cursor, proposals: ofValues(values, piece, field?.label ?? "") };
}

/** The best matches among the names of columns: a project may have 20,000 of them. */
export function proposeNames(word: string, fields: Fields): Proposal[] {
  const small = word.toLowerCase();
  const aliasOf = new Map([...fields.aliases].map(([alias, column]) => [column, alias]));
  const all = [...fields.byName.values()].map((field) => ({
    text: aliasOf.get(field.column) ?? field.column,
    field,
  }));
  return all
    .map(({ text, field }) => ({ text, field, score: scoreOf(small, text, field.label, field.column) }))
    .filter(({ score, field }) => score > 0 && field.type !== "array")
    .sort((a, b) => b.score - a.score || a.text.length - b.text.length)
    .slice(0, MAX_PROPOSALS)
    .map(({ text, field }) => ({
      text: (/[\s()":=<>!~,]/.test(text) ? quote(text) : text) + (field.type === "number" ? "" : ":"),
      label: text,
      hint: field.label,
    }));
}

function ofValues(values: readonly string[], piece: string, hint: string): Proposal[] {
  const small = piece.toLowerCase();
  return values
    .map((value) => ({ value, score: scoreOf(small, value) }))
    .filter(({ score, value }) => score > 0 && value.toLowerCase() !== small)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_PROPOSALS)
    .map(({ value }) => ({ text: `${/[\s()",]/.test(value) ? quote(value) : value} `, label: value, hint }));
}

function valuesOf(column: string, known: KnownValues): readonly string[] {
  if (column === "state") return STATES;
  if (column === "user") return ["me", ...(known[column] ?? [])];
  if (column === "archived") return ["true", "false", "any"];
  if (column === "isExpMultitrial" || column === "parentArchived") return ["true", "false"];
  if (column === "searcherType") return ["single", "random", "grid", "adaptive_asha", "async_halving", "custom"];
  if (["startTime", "endTime"].includes(column)) return ["today", "1d", "7d", "30d"];
  return known[column] ?? [];
}

function scoreOf(word: string, ...texts: string[]): number {
  if (!word) return 1;
  let best = 0;
  for (const each of texts) {
    const text = each.toLowerCase();
    if (text.startsWith(word)) best = Math.max(best, 4);
    else if (text.includes(`.${word}`) || text.includes(` ${word}`)) best = Math.max(best, 3);
    else if (text.includes(word)) best = Math.max(best, 2);
  }
  return best;
}

/** Where the word at the cursor begins; quotes keep spaces inside. */
function wordStart(text: string, cursor: number): number {
  let start = 0;
  let quoted = false;
  for (let at = 0; at < cursor; at += 1) {
    const sign = text[at];
    if (sign === '"' && text[at - 1] !== "\\") quoted = !quoted;
    else if (!quoted && (sign === " " || sign === "(" || sign === ")")) start = at + 1;
  }
  return start;
}

function unquote(word: string): string {
  return word.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1");
}
