import { OPERATORS, type Group, type QueryNode, type Term } from "./tree";

const BARE = /^[^\s()":=<>!~,\\-][^\s()":=<>!~,\\]*$/;
const BARE_VALUE = /^[^\s()",\\]+$/;
const WORDS = new Set(["or", "and", "archived"]);

/** The text of a tree; `parseQuery` reads the same tree from it. */
export function printQuery(root: Group): string {
  return root.not ? printNode(root, undefined) : printChildren(root);
}

export function printNode(node: QueryNode, outer: Group | undefined): string {
  const sign = node.not ? "-" : "";
  if (node.kind === "term") return sign + printTerm(node);
  if (node.kind === "text") return sign + (isPlain(node.value) ? node.value : quote(node.value));
  const inner = printChildren(node);
  const needs = node.not || !outer || node.children.length !== 1 || node.conjunction !== outer.conjunction;
  return needs || node.children.length === 1 ? `${sign}(${inner})` : inner;
}

function printChildren(node: Group): string {
  const parts = node.children.map((child) => printNode(child, node));
  return parts.join(node.conjunction === "or" ? " or " : " ");
}

function printTerm({ field, operator, values }: Term): string {
  const name = BARE.test(field) ? field : quote(field);
  return name + operator + values.map(printValue).join(",");
}

function printValue(value: string): string {
  // `hp.lr<=1` must not be read from `<` and `=1`.
  const ambiguous = OPERATORS.some((each) => value.startsWith(each));
  return BARE_VALUE.test(value) && !ambiguous ? value : quote(value);
}

function isPlain(word: string): boolean {
  return BARE.test(word) && !WORDS.has(word.toLowerCase());
}

export function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}
