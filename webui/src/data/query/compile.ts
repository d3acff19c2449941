/** A tree as the filter JSON of `POST /runs` and `POST /experiments-search`. */
import { findField, nearest, type Field, type Fields } from "./fields";
import { parseQuery } from "./parse";
import { printNode } from "./print";
import type { Group, Operator, Problem, QueryNode, Term, Text } from "./tree";
import { readValue, type Surroundings, type Value } from "./values";

type WireOperator = "=" | "!=" | "<" | "<=" | ">" | ">=" | "contains" | "notContains" | "isEmpty" | "notEmpty";

export interface FieldFilter {
  kind: "field";
  columnName: string;
  location: string;
  operator: WireOperator;
  type: string;
  value: Value | null;
}

export interface GroupFilter {
  kind: "group";
  conjunction: "and" | "or";
  children: (GroupFilter | FieldFilter)[];
}

export interface Filter {
  filterGroup: GroupFilter;
  showArchived: boolean;
}

export interface Compiled {
  filter: Filter;
  problems: Problem[];
  /** Columns that the filter restricts. */
  columns: ReadonlySet<string>;
}

const INVERSE: Record<WireOperator, WireOperator> = {
  "=": "!=",
  "!=": "=",
  "<": ">=",
  "<=": ">",
  ">": "<=",
  ">=": "<",
  contains: "notContains",
  notContains: "contains",
  isEmpty: "notEmpty",
  notEmpty: "isEmpty",
};

/** Text columns that have few values: `:` means equal. */
const EXACT = new Set(["state", "user", "resourcePool", "searcherType", "searcherMetric", "archived", "parentArchived", "isExpMultitrial", "localId"]);
const WIRE_TYPES = { text: "COLUMN_TYPE_TEXT", number: "COLUMN_TYPE_NUMBER", date: "COLUMN_TYPE_DATE", array: "COLUMN_TYPE_ARRAY" };

/** Compile a text; problems name the terms that cannot be compiled, and the filter leaves them out. */
export function compileQuery(text: string, fields: Fields, around: Surroundings): Compiled {
  const { root, problems } = parseQuery(text);
  const compiled = compileTree(root, fields, around);
  const placed = compiled.problems.map((problem) => {
    const from = text.indexOf(problem.term);
    return from < 0 ? problem : { ...problem, from, to: from + problem.term.length };
  });
  return { ...compiled, problems: [...problems, ...placed] };
}

export function compileTree(root: Group, fields: Fields, around: Surroundings): Compiled {
  const compiler = new Compiler(fields, around);
  const filterGroup = compiler.group(root, false);
  return {
    filter: { filterGroup, showArchived: compiler.showArchived },
    problems: compiler.problems,
    columns: compiler.columns,
  };
}

class Compiler {
  readonly problems: Problem[] = [];
  readonly columns = new Set<string>();
  showArchived = false;

  constructor(
    private readonly fields: Fields,
    private readonly around: Surroundings,
  ) {}

  group(node: Group, not: boolean): GroupFilter {
    const flip = not !== node.not;
    const conjunction = flip ? (node.conjunction === "and" ? "or" : "and") : node.conjunction;
    const children = node.children.flatMap((child) => this.node(child, flip) ?? []);
    return { kind: "group", conjunction, children };
  }

  private node(node: QueryNode, not: boolean): GroupFilter | FieldFilter | undefined {
    if (node.kind === "group") return this.group(node, not);
    if (node.kind === "text") return this.text(node, not !== node.not);
    return this.term(node, not !== node.not);
  }

  /** Words are in the name, the description or a tag; a number may also be an id. */
  private text({ value }: Text, not: boolean): GroupFilter {
    const isRun = this.fields.table === "run";
    const names = isRun ? ["experimentName", "experimentDescription", "tags"] : ["name", "description", "tags"];
    const found = names.flatMap((name) => this.fields.byName.get(name) ?? []);
    const children = found.map((field) => leaf(field, not ? "notContains" : "contains", value));
    const id = this.fields.byName.get("id");
    if (id && /^\d{1,9}$/.test(value)) children.push(leaf(id, not ? "!=" : "=", Number(value)));
    return { kind: "group", conjunction: not ? "and" : "or", children };
  }

  private term(term: Term, not: boolean): GroupFilter | FieldFilter | undefined {
    const name = term.field.toLowerCase();
    if (name === "has") return this.has(term, not);
    const field = findField(term.field, this.fields);
    if (!field) return this.unknown(term, term.field);
    if (field.type === "array") return this.refuse(term, `${field.label} is a list; the master cannot filter by lists.`);
    if (field.column === "archived") return this.archived(term, field, not);
    this.columns.add(field.column);
    const operator = wireOperator(term.operator, field);
    if (!operator) return this.refuse(term, `${term.operator} looks into texts, and ${field.label} is a ${field.type}. Use = != < <= > >=.`);
    const many = term.values.length > 1;
    if (many && !["=", "!=", "contains", "notContains"].includes(operator))
      return this.refuse(term, `${term.operator} compares with one value, not with ${term.values.length}.`);
    const leaves: FieldFilter[] = [];
    for (const word of term.values) {
      const read = readValue(field, word, this.around);
      if ("reason" in read) return this.refuse(term, read.reason);
      leaves.push(leaf(field, not ? INVERSE[operator] : operator, read.value));
    }
    if (!many) return leaves[0];
    const excludes = ["!=", "notContains"].includes(leaves[0]?.operator ?? "");
    return { kind: "group", conjunction: excludes ? "and" : "or", children: leaves };
  }

  private has(term: Term, not: boolean): GroupFilter | FieldFilter | undefined {
    if (term.operator !== ":" && term.operator !== "=") return this.refuse(term, "Write has:COLUMN for things with a value in a column.");
    const leaves: FieldFilter[] = [];
    for (const name of term.values) {
      const field = findField(name, this.fields);
      if (!field) return this.unknown(term, name);
      this.columns.add(field.column);
      leaves.push({ ...leaf(field, not ? "isEmpty" : "notEmpty", ""), value: null });
    }
    if (leaves.length === 1) return leaves[0];
    return { kind: "group", conjunction: not ? "and" : "or", children: leaves };
  }

  /** Archived things are left out unless a term asks for them. */
  private archived(term: Term, field: Field, not: boolean): FieldFilter | undefined {
    const word = (term.values[0] ?? "").toLowerCase();
    if (term.values.length === 1 && ["any", "all", "*"].includes(word)) {
      this.showArchived = true;
      return undefined;
    }
    const yes = ["true", "yes", "only"].includes(word);
    const equal = [":", "="].includes(term.operator);
    if (term.values.length !== 1 || !(yes || ["false", "no"].includes(word)) || !(equal || term.operator === "!="))
      return this.refuse(term, "Write archived, -archived, or archived:any for both.") as undefined;
    const wanted = yes !== (not !== !equal);
    if (!wanted && !this.showArchived) return leaf(field, "=", "false");
    this.showArchived = true;
    return leaf(field, "=", String(wanted));
  }

  private unknown(term: Term, name: string): undefined {
    const near = nearest(name, this.fields);
    const hint = near ? ` Is it ${near}?` : " Quotes make it a text to look for.";
    return this.refuse(term, `“${name}” is no column of this project.${hint}`);
  }

  private refuse(term: Term, reason: string): undefined {
    this.problems.push({ term: printNode(term, undefined), reason, from: 0, to: 0 });
    return undefined;
  }
}

function leaf(field: Field, operator: WireOperator, value: Value): FieldFilter {
  return {
    kind: "field",
    columnName: field.column,
    location: field.location,
    operator,
    type: WIRE_TYPES[field.type],
    value,
  };
}

function wireOperator(operator: Operator, field: Field): WireOperator | undefined {
  const isText = field.type === "text";
  switch (operator) {
    case ":":
      return isText && !EXACT.has(field.column) ? "contains" : "=";
    case "~":
      return isText ? "contains" : undefined;
    case "!~":
      return isText ? "notContains" : undefined;
    default:
      return operator;
  }
}
