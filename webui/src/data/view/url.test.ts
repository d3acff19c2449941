import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { applyDelta, encodeDelta } from "./delta";
import { MAX_WIDTH, MIN_WIDTH } from "./tableState";
import { decodeList, encodeList, listState, readView, sameView, type ListState, type ViewState } from "./url";

const id = fc.string({ minLength: 1, maxLength: 8 }).filter((each) => !each.startsWith("-"));
const ids = fc.uniqueArray(id, { minLength: 1, maxLength: 12 });
const view: fc.Arbitrary<ViewState> = fc.record({
  query: fc.string(),
  sort: fc.uniqueArray(fc.record({ id, desc: fc.boolean() }), { selector: (each) => each.id, maxLength: 4 }),
  columns: ids,
  pinned: fc.uniqueArray(id, { maxLength: 3 }),
  widths: fc.constant({}),
  group: fc.constantFrom("", "user", "hp.a,b"),
  baseline: fc.constantFrom("", "12"),
});
const state: fc.Arbitrary<ListState> = fc
  .tuple(
    view,
    fc.dictionary(id, fc.integer({ min: MIN_WIDTH, max: MAX_WIDTH })),
    fc.array(fc.nat().map(String)),
    fc.boolean(),
    fc.nat(),
    fc.uniqueArray(fc.string({ maxLength: 8 })),
  )
  .map(([base, widths, selected, all, at, open]) => ({ ...base, widths, selected, all, peek: selected[0] ?? "", at, open }));

describe("the address of a list", () => {
  it("gives the state back, whatever it is based on", () => {
    fc.assert(
      fc.property(state, view, (now, base) => {
        const text = encodeList(now, base).toString();
        expect(decodeList(new URLSearchParams(text), base)).toEqual(now);
      }),
      { numRuns: 500 },
    );
  });

  it("names nothing while nothing differs, and keeps foreign parameters", () => {
    const base: ViewState = { query: "", sort: [{ id: "id", desc: true }], columns: ["id", "name"], pinned: ["id"], widths: {}, group: "", baseline: "" };
    expect(encodeList(listState(base), base, new URLSearchParams("f_x=on&q=old")).toString()).toBe("f_x=on");
  });

  it("is short for one moved column", () => {
    expect(encodeDelta(["a", "b", "c", "d"], ["d", "a", "b", "c"])).toEqual(["d@0"]);
    expect(encodeDelta(["a", "b", "c"], ["a", "x", "c"])).toEqual(["-b", "x@1"]);
  });

  it("survives any text", () => {
    const base: ViewState = { query: "", sort: [], columns: ["id"], pinned: [], widths: {}, group: "", baseline: "" };
    fc.assert(
      fc.property(fc.string(), fc.constantFrom("sort", "cols", "pins", "w", "sel", "at"), (text, name) => {
        const read = decodeList(new URLSearchParams([[name, text]]), base);
        expect(read.columns.length).toBeGreaterThan(0);
        expect(Number.isInteger(read.at)).toBe(true);
      }),
    );
    expect(applyDelta(["a"], ["b@999", "@1", "c@x"])).toEqual(["a", "b"]);
  });

  it("compares views, and reads stored ones that are damaged", () => {
    const base: ViewState = { query: "x", sort: [], columns: ["id"], pinned: ["id"], widths: { id: 80 }, group: "user", baseline: "" };
    expect(sameView(base, { ...base, widths: { id: 81 } })).toBe(false);
    expect(readView({ columns: "no", sort: [3], widths: { id: "wide" }, query: 5 }, base)).toEqual({ ...base, widths: {} });
    expect(readView(undefined, base)).toEqual(base);
  });
});
