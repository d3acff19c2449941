/** A query of a list as a tree: what the query bar and the builder both edit. */
export type Conjunction = "and" | "or";

/** `:` is what a person means by default: equal for numbers, contains for free texts. */
export type Operator = ":" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~";

export const OPERATORS: readonly Operator[] = ["!=", "!~", "<=", ">=", ":", "=", "<", ">", "~"];

export interface Term {
  kind: "term";
  not: boolean;
  field: string;
  operator: Operator;
  /** Several values mean any of them. */
  values: string[];
}

/** A word that is looked for in names, descriptions and tags. */
export interface Text {
  kind: "text";
  not: boolean;
  value: string;
}

export interface Group {
  kind: "group";
  not: boolean;
  conjunction: Conjunction;
  children: QueryNode[];
}

export type QueryNode = Term | Text | Group;

/** Groups within groups, the outermost counted. */
export const MAX_LEVELS = 3;
export const MAX_TERMS = 200;

export const EVERYTHING: Group = { kind: "group", not: false, conjunction: "and", children: [] };

/** Why a part of a query cannot be used. `from` and `to` are places in the text. */
export interface Problem {
  term: string;
  reason: string;
  from: number;
  to: number;
}

export function group(conjunction: Conjunction, children: QueryNode[], not = false): Group {
  return { kind: "group", not, conjunction, children };
}

export function levelsOf(node: QueryNode): number {
  if (node.kind !== "group") return 0;
  return 1 + Math.max(0, ...node.children.map(levelsOf));
}

export function countTerms(node: QueryNode): number {
  if (node.kind !== "group") return 1;
  return node.children.reduce((sum, child) => sum + countTerms(child), 0);
}
