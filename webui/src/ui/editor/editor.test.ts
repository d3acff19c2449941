import { Text } from "@codemirror/state";
import { describe, expect, it } from "vitest";

import { languageOfPath } from "./Editor";
import { diagnostics } from "./markers";

describe("markers", () => {
  const doc = Text.of(["a: 1", "  b: [", ""]);

  it("stand at their lines, after the indent", () => {
    const [whole, column] = diagnostics(doc, [
      { line: 2, message: "open" },
      { line: 2, column: 6, message: "here", severity: "warning" },
    ]);
    expect(whole).toEqual({ from: 7, to: 11, message: "open", severity: "error" });
    expect(column).toMatchObject({ from: 10, to: 11, severity: "warning" });
  });

  it("stay inside the document, whatever the master says", () => {
    for (const line of [0, -3, 99, NaN]) {
      const [made] = diagnostics(doc, [{ line, column: 500, message: "m" }]);
      expect(made && made.from >= 0 && made.to <= doc.length).toBe(true);
    }
  });
});

it("the language follows from the file's name", () => {
  expect(["a.YAML", "b.py", "c.json", "Dockerfile"].map(languageOfPath)).toEqual(["yaml", "python", "json", "text"]);
});
