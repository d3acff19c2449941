import { describe, expect, it } from "vitest";

import { changesOf } from "./changedFiles";

describe("files of two experiments", () => {
  it("leaves out equal ones and names the change of the others", () => {
    const files = [
      { path: "a.py", before: "1", after: "1" },
      { path: "b.py", before: "1", after: "2" },
      { path: "c.py", before: undefined, after: "" },
      { path: "d.py", before: "4", after: undefined },
    ];
    expect(changesOf(files).map(({ path, change }) => `${path} ${change}`)).toEqual([
      "b.py changed",
      "c.py added",
      "d.py removed",
    ]);
  });
});
