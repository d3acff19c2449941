/**
 * Reads the query language: `state:error user:me metric.val_loss<0.2 (tag:base or tag:long) -archived`.
 *
 * Terms beside each other must all hold; `or` binds weaker; parentheses group; `-` negates. Quotes
 * keep spaces and signs; a backslash stands before a quote inside them.
 */
import {
  EVERYTHING,
  group,
  levelsOf,
  MAX_LEVELS,
  MAX_TERMS,
  OPERATORS,
  countTerms,
  type Group,
  type Operator,
  type Problem,
  type QueryNode,
} from "./tree";

const COMPARISONS: ReadonlySet<Operator> = new Set(["<", "<=", ">", ">=", "=", "!="]);

export type Parsed = { root: Group; problems: Problem[] };

export function parseQuery(text: string): Parsed {
  const reader = new Reader(text);
  const root = reader.whole();
  const problems = reader.problems;
  const all = { term: text, from: 0, to: text.length };
  if (levelsOf(root) > MAX_LEVELS)
    problems.push({ ...all, reason: `Groups are nested deeper than ${MAX_LEVELS} levels.` });
  if (countTerms(root) > MAX_TERMS)
    problems.push({ ...all, reason: `The query has more than ${MAX_TERMS} terms.` });
  return { root, problems };
}

class Reader {
  readonly problems: Problem[] = [];
  private at = 0;

  constructor(private readonly text: string) {}

  whole(): Group {
    const node = this.alternatives(0);
    this.space();
    while (this.at < this.text.length) {
      this.problem(this.at, this.at + 1, "No parenthesis is open here.");
      this.at += 1;
      this.alternatives(0);
      this.space();
    }
    if (!node) return EVERYTHING;
    // A root that was written in parentheses stays a group of its own.
    return node.kind === "group" && !node.not && !this.wrapped.has(node) ? node : group("and", [node]);
  }

  private wrapped = new WeakSet<QueryNode>();

  private alternatives(depth: number): QueryNode | undefined {
    const parts: QueryNode[] = [];
    for (;;) {
      const from = this.at;
      const part = this.sequence(depth);
      if (part) parts.push(part);
      else if (parts.length > 0 || this.isWord("or")) this.problem(from, this.at + 2, "A term is missing beside “or”.");
      if (!this.isWord("or")) break;
      this.at += 2;
    }
    if (parts.length <= 1) return parts[0];
    return group("or", parts);
  }

  private sequence(depth: number): QueryNode | undefined {
    const parts: QueryNode[] = [];
    for (;;) {
      this.space();
      if (this.at >= this.text.length || this.text[this.at] === ")" || this.isWord("or")) break;
      if (this.isWord("and")) {
        this.at += 3;
        continue;
      }
      const part = this.item(depth);
      if (part) parts.push(part);
    }
    if (parts.length <= 1) return parts[0];
    return group("and", parts);
  }

  private item(depth: number): QueryNode | undefined {
    const from = this.at;
    let not = false;
    while (this.text[this.at] === "-") {
      not = !not;
      this.at += 1;
    }
    if (this.text[this.at] === "(") return this.parenthesis(from, not, depth);
    return this.term(from, not);
  }

  private parenthesis(from: number, not: boolean, depth: number): QueryNode | undefined {
    this.at += 1;
    // Far deeper than any level that is allowed: the reader itself must not run out of stack.
    if (depth > 50) {
      this.problem(from, this.text.length, "Groups are nested too deep.");
      this.at = this.text.length;
      return undefined;
    }
    const inner = this.alternatives(depth + 1);
    this.space();
    if (this.text[this.at] === ")") this.at += 1;
    else this.problem(from, this.text.length, "A closing parenthesis is missing.");
    if (!inner) return undefined;
    const asGroup =
      inner.kind === "group" && !inner.not && !this.wrapped.has(inner) ? inner : group("and", [inner]);
    const node = { ...asGroup, not };
    this.wrapped.add(node);
    return node;
  }

  private term(from: number, not: boolean): QueryNode | undefined {
    const quoted = this.text[this.at] === '"';
    const word = quoted ? this.quoted() : this.bare(/[^\s()":=<>!~,]/);
    const operator = this.operator() ?? this.spacedOperator(word);
    if (operator && word !== "") {
      this.spaceBeforeValue(operator);
      const values = this.values();
      if (values.length === 1 && values[0] === "" && this.text[this.at - 1] !== '"')
        this.problem(from, this.at, `A value is missing after “${word}${operator}”.`);
      return { kind: "term", not, field: word, operator, values };
    }
    if (!quoted && !operator && word.toLowerCase() === "archived")
      return { kind: "term", not, field: "archived", operator: ":", values: ["true"] };
    const rest = quoted ? "" : this.bare(/[^\s()"]/);
    const value = word + (operator ?? "") + rest;
    if (value === "") {
      // A sign alone, such as `-` while a person is typing.
      if (this.at < this.text.length && this.at === from) this.at += 1;
      return undefined;
    }
    return { kind: "text", not, value };
  }

  /** `val_loss < 0.2`: a comparison may have spaces around it. */
  private spacedOperator(word: string): Operator | undefined {
    const gap = /^\s+(?=[<>]|=|!=)/.exec(this.text.slice(this.at));
    if (word === "" || !gap) return undefined;
    this.at += gap[0].length;
    return this.operator();
  }

  private spaceBeforeValue(operator: Operator): void {
    const from = this.at;
    if (!COMPARISONS.has(operator)) return;
    this.space();
    if (this.at >= this.text.length || this.isWord("or") || this.isWord("and")) this.at = from;
  }

  private operator(): Operator | undefined {
    const found = OPERATORS.find((each) => this.text.startsWith(each, this.at));
    if (found) this.at += found.length;
    return found;
  }

  private values(): string[] {
    const values: string[] = [];
    for (;;) {
      values.push(this.text[this.at] === '"' ? this.quoted() : this.bare(/[^\s()",]/));
      if (this.text[this.at] !== ",") return values;
      this.at += 1;
    }
  }

  private quoted(): string {
    const from = this.at;
    this.at += 1;
    let value = "";
    while (this.at < this.text.length && this.text[this.at] !== '"') {
      if (this.text[this.at] === "\\" && this.at + 1 < this.text.length) this.at += 1;
      value += this.text[this.at];
      this.at += 1;
    }
    if (this.at >= this.text.length) this.problem(from, this.at, "A closing quote is missing.");
    else this.at += 1;
    return value;
  }

  private bare(allowed: RegExp): string {
    const from = this.at;
    while (this.at < this.text.length && allowed.test(this.text.charAt(this.at))) this.at += 1;
    return this.text.slice(from, this.at);
  }

  private isWord(word: string): boolean {
    const end = this.at + word.length;
    if (this.text.slice(this.at, end).toLowerCase() !== word) return false;
    return end >= this.text.length || /[\s()]/.test(this.text.charAt(end));
  }

  private space(): void {
    while (/\s/.test(this.text.charAt(this.at))) this.at += 1;
  }

  private problem(from: number, to: number, reason: string): void {
    const end = Math.min(Math.max(to, from + 1), this.text.length);
    this.problems.push({ term: this.text.slice(from, end), reason, from, to: end });
  }
}
