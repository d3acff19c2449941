import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { flow, lineAt, openDraft, setAll, setAt, textAt, typeAt, typed, valueAt } from "./draft";

const TEXT = `# of the paper
name: base  # short
searcher:
  name: single
  metric: loss
hyperparameters:
  lr: 1e-4
  momentum: 0.10
resources:
`;

describe("openDraft", () => {
  it("reads values, in the form in which they are typed", () => {
    const draft = openDraft(TEXT);
    expect(valueAt(draft, ["hyperparameters", "lr"])).toBe(1e-4);
    expect(textAt(draft, ["hyperparameters", "lr"])).toBe("1e-4");
    expect(textAt(draft, ["hyperparameters", "momentum"])).toBe("0.10");
    expect(textAt(draft, ["resources", "slots_per_trial"])).toBe("");
    expect(textAt(draft, ["searcher"])).toBe("{name: single, metric: loss}");
  });

  it("names the line of an error of the syntax, and has no value then", () => {
    const draft = openDraft("name: a\nsearcher: {name: [}\n");
    expect(draft.error?.line).toBe(2);
    expect(draft.value).toEqual({});
    expect(textAt(draft, ["name"])).toBe("");
  });

  it("refuses a list, a key that is given twice, and aliases without bound", () => {
    expect(openDraft("- 1").error?.message).toMatch(/name: value/);
    expect(openDraft("a: 1\na: 2").error?.line).toBe(2);
    const bomb = ["a: &a [x, x, x, x, x, x, x, x, x, x]", ..."bcdefg".split("").map((name, at) => {
      const before = "abcdef"[at];
      return `${name}: &${name} [${Array(10).fill(`*${before}`).join(", ")}]`;
    })].join("\n");
    expect(openDraft(bomb).error).toBeDefined();
  });

  it("reads nothing and comments as an empty configuration", () => {
    expect(openDraft("").value).toEqual({});
    expect(openDraft("# later\n").error).toBeUndefined();
  });
});

describe("an edit by the form", () => {
  it("keeps comments, order and the other lines", () => {
    expect(setAt(TEXT, ["name"], "other")).toBe(TEXT.replace("name: base", "name: other").replace("  #", " #"));
  });

  it("fills a section that is empty, and makes one that is missing", () => {
    expect(openDraft(setAt(TEXT, ["resources", "slots_per_trial"], 2)).value["resources"]).toEqual({ slots_per_trial: 2 });
    expect(openDraft(setAt("", ["a", "b"], 1)).value).toEqual({ a: { b: 1 } });
  });

  it("removes a value, and only that", () => {
    const text = setAt(TEXT, ["hyperparameters", "lr"], undefined);
    expect(openDraft(text).value["hyperparameters"]).toEqual({ momentum: 0.1 });
    expect(setAt(TEXT, ["no", "such"], undefined)).toContain("momentum");
  });

  it("removes a section that becomes empty, and grows it again in lines", () => {
    const one = "name: a\nresources:\n  slots: 1\n";
    expect(setAt(one, ["resources", "slots"], undefined)).toBe("name: a\n");
    expect(setAt("name: a\n", ["name"], undefined)).toBe("");
    expect(setAt("resources: {}\n", ["resources", "slots"], 1)).toBe("resources:\n  slots: 1\n");
    expect(setAt("hyperparameters:\n  lr: 1\n", ["hyperparameters", "lr"], undefined)).toBe("hyperparameters: {}\n");
  });

  it("does not touch a text with an error", () => {
    expect(setAt("a: [", ["b"], 1)).toBe("a: [");
    expect(typeAt("a: [", ["b"], "1")).toBe("a: [");
  });

  it("writes what is typed as it is typed", () => {
    const at = ["hyperparameters", "lr"];
    for (const entry of ["0.010", "3e-5", "adam", "[1, 2]", "true"])
      expect(textAt(openDraft(typeAt(TEXT, at, entry)), at)).toBe(entry);
  });

  it("writes several values", () => {
    const text = setAll(TEXT, [[["name"], "x"], [["searcher", "metric"], undefined]]);
    expect(openDraft(text).value).toMatchObject({ name: "x", searcher: { name: "single" } });
  });

  it("keeps every text that can be typed into a field", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (entry) => {
        const draft = openDraft(setAt("a: 1\n", ["name"], entry));
        expect(draft.error).toBeUndefined();
        expect(draft.value).toEqual({ a: 1, name: entry });
      }),
    );
  });

  it("stays valid YAML whatever is typed as a value", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (entry) => {
        const draft = openDraft(typeAt("a: 1\n", ["b", "c"], entry));
        expect(draft.error).toBeUndefined();
        expect(draft.value["a"]).toBe(1);
      }),
    );
  });
});

it("a typed value is a number, a word or a list", () => {
  expect(typed("1e-3")).toBe(0.001);
  expect(typed("a: b")).toBe("a: b");
  expect(typed("[1, x]")).toEqual([1, "x"]);
  expect(flow([1, "x"])).toBe("[1, x]");
});

it("finds the line of a path, or of the deepest part that exists", () => {
  const draft = openDraft(TEXT);
  expect(lineAt(draft, ["searcher", "metric"])).toBe(5);
  expect(lineAt(draft, ["searcher", "max_trials"])).toBe(3);
  expect(lineAt(draft, ["nothing"])).toBeUndefined();
  expect(lineAt(openDraft("labels:\n  - a\n  - b\n"), ["labels", 1])).toBe(3);
});
