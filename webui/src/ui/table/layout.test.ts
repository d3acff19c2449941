import { describe, expect, it } from "vitest";

import { moveColumn, orderOf, shiftColumn, withColumn, withPin, withSort, withWidth } from "@/data/view/tableState";

import { sortRows } from "./arrayRows";
import { countOf, isSelected, NOTHING, select, selectAll } from "./selection";
import type { Column } from "./types";
import { defaultState, layOut } from "./useLayout";

interface Row {
  id: number;
  name: string | undefined;
}
const columns: Column<Row>[] = [
  { id: "id", header: "ID", width: 80, pin: true, render: (row) => row.id, value: (row) => row.id },
  { id: "name", header: "Name", width: 200, grow: true, render: (row) => row.name, value: (row) => row.name },
  { id: "extra", header: "Extra", width: 100, render: () => null },
  { id: "rare", header: "Rare", hidden: true, render: () => null },
];
const start = defaultState(columns);

describe("columns", () => {
  it("stand beside each other, pinned ones first, and one takes the surplus", () => {
    const layout = layOut(columns, start, 40, 36, 1000);
    expect(layout.pinned.map((each) => [each.column.id, each.left])).toEqual([["id", 40]]);
    expect(layout.free.map((each) => [each.column.id, each.left, each.width])).toEqual([
      ["name", 120, 744],
      ["extra", 864, 100],
    ]);
    expect(layout.width).toBe(1000);
  });

  it("are not pinned where they would cover a narrow window", () => {
    const wide = withPin(withWidth(start, "name", 400), "name", true);
    expect(layOut(columns, wide, 40, 0, 320).pinned.map((each) => each.column.id)).toEqual(["id"]);
    expect(layOut(columns, wide, 40, 0, 1200).pinned.map((each) => each.column.id)).toEqual(["id", "name"]);
  });

  it("move by drag and by menu alike", () => {
    const shown = withColumn(start, "rare", true);
    expect(orderOf(moveColumn(shown, "rare", "name", false))).toEqual(["id", "rare", "name", "extra"]);
    expect(orderOf(shiftColumn(shown, "name", 1))).toEqual(["id", "extra", "name", "rare"]);
    expect(shiftColumn(shown, "name", -1)).toBe(shown);
    expect(orderOf(withColumn(shown, "name", false))).toEqual(["id", "extra", "rare"]);
  });

  it("sort alone, then together", () => {
    const one = withSort(start, "name", "asc");
    const two = withSort(one, "id", "desc", true);
    expect(two.sort).toEqual([
      { id: "name", desc: false },
      { id: "id", desc: true },
    ]);
    expect(withSort(two, "name", "none", true).sort).toEqual([{ id: "id", desc: true }]);
  });
});

describe("rows in memory", () => {
  it("sort by several columns; missing values are last both ways", () => {
    const rows = [
      { id: 1, name: "run 10" },
      { id: 2, name: undefined },
      { id: 3, name: "run 9" },
      { id: 4, name: "run 9" },
    ];
    const ids = (desc: boolean) =>
      sortRows(rows, columns, [
        { id: "name", desc },
        { id: "id", desc: true },
      ]).map((row) => row.id);
    expect(ids(false)).toEqual([4, 3, 1, 2]);
    expect(ids(true)).toEqual([1, 4, 3, 2]);
  });
});

describe("a selection", () => {
  it("holds keys, or all but some", () => {
    const some = select(NOTHING, [1, 2, 3], true);
    expect([countOf(some, 100), isSelected(some, 2), isSelected(some, 9)]).toEqual([3, true, false]);
    const all = select(selectAll(), [5], false);
    expect([countOf(all, 100), isSelected(all, 5), isSelected(all, 6)]).toEqual([99, false, true]);
    expect(countOf(select(all, [5], true), 100)).toBe(100);
  });
});
