import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { mergeTexts } from "./merge";

const text = (...lines: string[]) => lines.join("\n");

describe("two changes of one text", () => {
  const base = text("# Week", "", "first", "", "last");

  it("are put together where they touch different lines", () => {
    const mine = text("# Week 7", "", "first", "", "last");
    const theirs = text("# Week", "", "first", "", "last", "more");
    expect(mergeTexts(base, mine, theirs)).toEqual({ text: text("# Week 7", "", "first", "", "last", "more") });
    expect(mergeTexts(base, theirs, mine)).toEqual({ text: text("# Week 7", "", "first", "", "last", "more") });
  });

  it("conflict where they change the same line, or insert at the same place", () => {
    expect(mergeTexts(base, base.replace("first", "mine"), base.replace("first", "theirs"))).toBe("conflict");
    expect(mergeTexts(base, `${base}\nmine`, `${base}\ntheirs`)).toBe("conflict");
  });

  it("of which one is none give the other", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (from, to) => {
        expect(mergeTexts(from, to, from)).toEqual({ text: to });
        expect(mergeTexts(from, from, to)).toEqual({ text: to });
        expect(mergeTexts(from, to, to)).toEqual({ text: to });
      }),
    );
  });

  it("give the same text whoever saves first", () => {
    const lines = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 6 }).map((each) => each.join("\n"));
    fc.assert(
      fc.property(lines, lines, lines, (from, one, other) => {
        expect(mergeTexts(from, one, other)).toEqual(mergeTexts(from, other, one));
      }),
    );
  });
});
