import { describe, expect, it } from "vitest";

import { freeName, mergePages, samePages } from "./notes";

const page = (name: string, contents: string) => ({ name, contents });

describe("notes of a project", () => {
  it("takes the side that changed a page, and names pages that both changed", () => {
    const base = [page("a", "1"), page("b", "1"), page("c", "1")];
    const mine = [page("a", "mine"), page("b", "1"), page("c", "mine"), page("new", "n")];
    const theirs = [page("a", "1"), page("b", "theirs"), page("c", "theirs")];
    expect(mergePages(base, mine, theirs)).toEqual({
      merged: [page("a", "mine"), page("b", "theirs"), page("c", "mine"), page("new", "n")],
      conflicts: ["c"],
    });
  });

  it("keeps a removal unless the other side changed the page", () => {
    expect(mergePages([page("a", "1")], [], [page("a", "1")])).toEqual({ merged: [], conflicts: [] });
    expect(mergePages([page("a", "1")], [], [page("a", "2")])).toEqual({ merged: [], conflicts: ["a"] });
  });

  it("finds free names and compares", () => {
    expect(freeName([page("Notes", ""), page("Notes 2", "")])).toBe("Notes 3");
    expect(samePages([page("a", "1")], [page("a", "2")])).toBe(false);
  });
});
