import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { compileQuery, compileTree, type FieldFilter, type GroupFilter } from "./compile";
import { complete } from "./complete";
import { fieldsOf } from "./fields";
import { parseQuery } from "./parse";
import { printQuery } from "./print";
import { group, OPERATORS, type Group, type QueryNode } from "./tree";

const fields = fieldsOf("run", [
  { column: "id", type: "COLUMN_TYPE_NUMBER", location: "LOCATION_TYPE_RUN", displayName: "Global Run ID" },
  { column: "state", type: "COLUMN_TYPE_TEXT", location: "LOCATION_TYPE_RUN", displayName: "State" },
  { column: "user", type: "COLUMN_TYPE_TEXT", location: "LOCATION_TYPE_RUN", displayName: "User" },
  { column: "tags", type: "COLUMN_TYPE_TEXT", location: "LOCATION_TYPE_RUN", displayName: "Tags" },
  { column: "experimentName", type: "COLUMN_TYPE_TEXT", location: "LOCATION_TYPE_RUN", displayName: "Search Name" },
  { column: "experimentDescription", type: "COLUMN_TYPE_TEXT", location: "LOCATION_TYPE_RUN", displayName: "Search Description" },
  { column: "startTime", type: "COLUMN_TYPE_DATE", location: "LOCATION_TYPE_RUN", displayName: "Start Time" },
  { column: "duration", type: "COLUMN_TYPE_NUMBER", location: "LOCATION_TYPE_RUN", displayName: "Duration" },
  { column: "validation.val_loss.last", type: "COLUMN_TYPE_NUMBER", location: "LOCATION_TYPE_VALIDATIONS" },
  { column: "hp.lr", type: "COLUMN_TYPE_NUMBER", location: "LOCATION_TYPE_RUN_HYPERPARAMETERS" },
  { column: "layers", type: "COLUMN_TYPE_ARRAY", location: "LOCATION_TYPE_RUN_HYPERPARAMETERS" },
]);
const around = { me: "Ada Lovelace", now: Date.parse("2026-03-10T12:00:00Z") };
const compile = (text: string) => compileQuery(text, fields, around);
const first = (text: string) => compile(text).filter.filterGroup.children[0] as FieldFilter;

describe("the query language", () => {
  it("compiles the example of its description", () => {
    const { filter, problems } = compile(
      'state:error user:me metric.val_loss<0.2 hp.lr>=1e-4 tag:base name:"foo bar" -archived free text',
    );
    expect(problems).toEqual([]);
    expect(filter.showArchived).toBe(false);
    const parts = filter.filterGroup.children.slice(0, 6) as FieldFilter[];
    expect(parts.map((p) => [p.columnName, p.operator, p.value])).toEqual([
      ["state", "=", "ERROR"],
      ["user", "=", "Ada Lovelace"],
      ["validation.val_loss.last", "<", 0.2],
      ["hp.lr", ">=", 1e-4],
      ["tags", "contains", "base"],
      ["experimentName", "contains", "foo bar"],
    ]);
    expect(parts[2]?.location).toBe("LOCATION_TYPE_VALIDATIONS");
    const free = filter.filterGroup.children.at(-1) as GroupFilter;
    expect(free.conjunction).toBe("or");
    expect(free.children).toContainEqual(expect.objectContaining({ columnName: "experimentName", operator: "contains", value: "text" }));
  });

  it("takes spaces around a comparison, and a metric or hyperparameter by its bare name", () => {
    for (const text of ["val_loss < 0.2", "val_loss <0.2", "val_loss< 0.2", "metric.val_loss < 0.2"]) {
      expect(compile(text).problems).toEqual([]);
      expect(first(text)).toMatchObject({ columnName: "validation.val_loss.last", operator: "<", value: 0.2 });
    }
    const { children } = compile("state:error lr >= 1e-4 val_loss != 1").filter.filterGroup;
    expect((children as FieldFilter[]).map((each) => each.columnName)).toEqual(["state", "hp.lr", "validation.val_loss.last"]);
    expect(compile("val_loss <").problems[0]?.reason).toContain("A value is missing");
    expect(compile("val_loss < or state:error").problems[0]?.reason).toContain("A value is missing");
  });

  it("gives or a weaker bond than terms beside each other", () => {
    const { filterGroup } = compile("state:error tag:a or tag:b").filter;
    expect(filterGroup.conjunction).toBe("or");
    expect((filterGroup.children[0] as GroupFilter).conjunction).toBe("and");
  });

  it("negates groups by De Morgan", () => {
    const inner = compile("-(state:error or hp.lr<1)").filter.filterGroup.children[0] as GroupFilter;
    expect(inner.conjunction).toBe("and");
    expect(inner.children.map((each) => (each as FieldFilter).operator)).toEqual(["!=", ">="]);
  });

  it("shows archived runs only when a term asks for them", () => {
    expect(compile("").filter.showArchived).toBe(false);
    expect(compile("archived:any").filter).toEqual({ showArchived: true, filterGroup: { kind: "group", conjunction: "and", children: [] } });
    expect(compile("archived").filter.showArchived).toBe(true);
    expect(first("archived").value).toBe("true");
  });

  it("reads durations, times ago and lists of values", () => {
    expect(first("duration>1h30m").value).toBe(5400);
    expect(first("started>7d").value).toBe("2026-03-03T12:00:00.000Z");
    const list = compile("state:error,paused").filter.filterGroup.children[0] as GroupFilter;
    expect([list.conjunction, list.children.length]).toEqual(["or", 2]);
    expect(first("-has:hp.lr").operator).toBe("isEmpty");
  });

  it.each([
    ["hp.rl>1", /“hp.rl” is no column.*hp\.lr/],
    ["state:er", /is no state/],
    ["hp.lr:abc", /“abc” is not a number/],
    ["hp.lr~3", /looks into texts/],
    ["hp.layers:3", /cannot filter by lists/],
    ["started>soon", /is not a time/],
    ["duration>1,2", /compares with one value/],
    ['name:"open', /closing quote/],
    ["(state:error", /closing parenthesis/],
    ["state:error)", /No parenthesis is open/],
    ["state:", /value is missing/],
    ["a or", /missing beside “or”/],
    ["((((a or b) c) or d) e)", /nested deeper/],
  ])("refuses %s with a reason", (text, reason) => {
    const { problems } = compile(text);
    expect(problems.map((each) => each.reason).join("\n")).toMatch(reason);
    expect(text).toContain(problems[0]?.term);
  });

  it("proposes fields, then values", () => {
    expect(complete("st", 2, fields, {}).proposals.map((p) => p.text)).toContain("state:");
    expect(complete("tag:a val_", 10, fields, {}).proposals[0]?.text).toBe("validation.val_loss.last");
    const values = complete("-user:ad", 8, fields, { user: ["ada", "bob"] });
    expect(values).toEqual({ from: 6, to: 8, proposals: [{ text: "ada ", label: "ada", hint: "User" }] });
  });
});

const word = fc.string({ minLength: 1, maxLength: 12 });
const leaf: fc.Arbitrary<QueryNode> = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), not: fc.boolean(), value: word }),
  fc.record({
    kind: fc.constant("term" as const),
    not: fc.boolean(),
    field: word,
    operator: fc.constantFrom(...OPERATORS),
    values: fc.array(word, { minLength: 1, maxLength: 3 }),
  }),
);
const conjunction = fc.constantFrom("and" as const, "or" as const);
const inner: fc.Arbitrary<QueryNode> = fc
  .tuple(conjunction, fc.array(leaf, { minLength: 2, maxLength: 4 }), fc.boolean())
  .map(([each, children, not]) => group(each, children, not));
const tree: fc.Arbitrary<Group> = fc
  .tuple(conjunction, fc.array(fc.oneof(leaf, inner), { minLength: 2, maxLength: 4 }))
  .map(([each, children]) => group(each, children));

describe("printing", () => {
  it("is the inverse of parsing", () => {
    fc.assert(
      fc.property(tree, (root) => {
        const { root: again, problems } = parseQuery(printQuery(root));
        expect(problems).toEqual([]);
        expect(again).toEqual(root);
      }),
      { numRuns: 500 },
    );
  });

  it("of any text that parses is stable, and nothing that a person types throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."ab -:<>=!~\"\\(),or ".split("")), maxLength: 40 }), (text) => {
        const { root } = parseQuery(text);
        expect(parseQuery(printQuery(root)).root).toEqual(root);
        compileTree(root, fields, around);
      }),
      { numRuns: 2000 },
    );
  });
});
