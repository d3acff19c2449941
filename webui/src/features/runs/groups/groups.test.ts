import { describe, expect, it } from "vitest";

import { fieldsOf } from "@/data/query/fields";
import type { PageAnswer } from "@/ui/table/pagedRows";

import { fromRun, type Item } from "../item";
import { conditionOf, differenceOf, figureColumns, groupingFields, groupItems, keyOf, sortGroups, summed, type Group } from "./figures";
import { GroupedRows, keyOfItem } from "./GroupedRows";
import { fromWire } from "./read";

const FIELDS = fieldsOf("run", [
  { column: "id", location: "LOCATION_TYPE_RUN", type: "COLUMN_TYPE_NUMBER" },
  { column: "user", location: "LOCATION_TYPE_RUN", type: "COLUMN_TYPE_TEXT" },
  { column: "state", location: "LOCATION_TYPE_RUN", type: "COLUMN_TYPE_TEXT" },
  { column: "duration", location: "LOCATION_TYPE_RUN", type: "COLUMN_TYPE_NUMBER" },
  { column: "hp.lr", location: "LOCATION_TYPE_RUN_HYPERPARAMETERS", type: "COLUMN_TYPE_NUMBER" },
  { column: "validation.loss.last", location: "LOCATION_TYPE_VALIDATIONS", type: "COLUMN_TYPE_NUMBER" },
]);

const group = (value: Group["value"], runs = 1, loss?: number): Group => ({
  key: keyOf(value),
  value,
  runs,
  figures: new Map(loss === undefined ? [] : [["loss", { n: 1, mean: loss, std: undefined, min: loss, max: loss }]]),
});

function run(id: number, lr: number | undefined, loss: number | string): Item {
  return fromRun({
    id,
    userId: id % 2,
    state: "STATE_COMPLETED",
    hyperparameters: lr === undefined ? {} : { lr },
    summaryMetrics: { validation_metrics: { loss: { last: loss } } },
  } as never);
}

describe("groups of runs", () => {
  it("are made by columns that name, and sum up columns that measure", () => {
    expect(groupingFields(FIELDS).map(({ column }) => column)).toEqual(["user", "state", "hp.lr"]);
    expect(figureColumns(["id", "user", "hp.lr", "validation.loss.last", "duration"], FIELDS, "hp.lr")).toEqual(["validation.loss.last", "duration"]);
  });

  it("made here have the figures of the master's", () => {
    const runs = [run(1, 0.1, 1), run(2, 0.1, 3), run(3, 0.1, "NaN"), run(4, undefined, 5)];
    const { groups, total } = groupItems(runs, "hp.lr", ["validation.loss.last"], String);
    expect(total).toBe(2);
    expect(groups.map(({ key, runs: count }) => [key, count])).toEqual([["n0.1", 3], ["", 1]]);
    expect(groups[0]?.figures.get("validation.loss.last")).toEqual({ n: 2, mean: 2, std: Math.SQRT2, min: 1, max: 3 });
    expect(groupItems(runs, "user", [], (id) => `user ${id}`).groups.map(({ value }) => value)).toEqual(["user 1", "user 0"]);
    expect(summed([])).toBeUndefined();
  });

  it("come from the wire with numbers that JSON has no form for", () => {
    const figures = [{ column: "loss", n: 2, mean: "Infinity", std: "NaN", min: 1, max: "Infinity" }];
    const { groups } = fromWire({ groups: [{ text: null, number: 2, runs: 3, figures }, { text: "sgd", number: null, runs: 1, figures: [] }], total: 2, runs: 4 });
    expect(groups.map(({ key }) => key)).toEqual(["n2", "tsgd"]);
    expect(groups[0]?.figures.get("loss")).toMatchObject({ mean: Infinity, min: 1 });
  });

  it("find their runs by a condition", () => {
    const field = FIELDS.byName.get("hp.lr");
    if (!field) throw new Error("no field");
    expect(conditionOf({ value: 0.1 }, field)).toMatchObject({ operator: "=", value: 0.1, type: "COLUMN_TYPE_NUMBER" });
    expect(conditionOf({ value: "sgd" }, field)).toMatchObject({ operator: "=", value: "sgd", type: "COLUMN_TYPE_TEXT" });
    expect(conditionOf({ value: undefined }, field)).toMatchObject({ operator: "isEmpty", value: null });
  });

  it("stand by value, or by the figure that the list is sorted by; those without it last", () => {
    const some = [group(undefined, 9, 1), group(10, 1, 3), group(9, 1, 2), group("b"), group("a")];
    const values = (sort: { id: string; desc: boolean }[]) => sortGroups(some, "hp.lr", sort).map(({ value }) => value);
    expect(values([{ id: "id", desc: true }])).toEqual([9, 10, "a", "b", undefined]);
    expect(values([{ id: "hp.lr", desc: true }])).toEqual(["b", "a", 10, 9, undefined]);
    expect(values([{ id: "loss", desc: true }]).slice(0, 3)).toEqual([10, 9, undefined]);
  });
});

describe("differences to the baseline", () => {
  it("are of finite numbers, with their share of the baseline", () => {
    expect(differenceOf(3, 2)).toEqual({ by: 1, share: 0.5 });
    expect(differenceOf(-3, -2)).toEqual({ by: -1, share: -0.5 });
    expect(differenceOf(3, 0)).toEqual({ by: 3, share: undefined });
    expect([differenceOf(NaN, 1), differenceOf(1, Infinity), differenceOf(undefined, 1), differenceOf("1", 1)]).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe("rows in groups", () => {
  async function rowsOf(open: string[], sizes = [3, 500, 2]) {
    const asked: [string, number][] = [];
    const groups = sizes.map((runs, at) => group(at, runs, -at));
    const rows = new GroupedRows({
      by: "hp.lr",
      groups: async () => ({ groups, total: groups.length, runs: sizes.reduce((a, b) => a + b) }),
      pages: ({ key, runs, value }) => async (offset, limit): Promise<PageAnswer<Item>> => {
        asked.push([key, offset]);
        const count = Math.max(0, Math.min(limit, runs - offset));
        return { rows: Array.from({ length: count }, (_, i) => run(1000 * Number(value) + offset + i, Number(value), 1)), total: runs };
      },
    });
    rows.configure(["loss"], [], new Set(open));
    await settled();
    return { rows, asked };
  }
  const settled = () => new Promise((done) => setTimeout(done));

  it("are heads, and the runs of open groups between them", async () => {
    const { rows, asked } = await rowsOf(["n1"]);
    expect(rows.total).toBe(503);
    expect([0, 1, 502].map((at) => rows.rowAt(at)?.group?.key)).toEqual(["n0", "n1", "n2"]);
    expect(asked).toEqual([]);
    rows.ensure(0, 40);
    await settled();
    expect(asked).toContainEqual(["n1", 0]);
    expect(rows.rowAt(2)?.id).toBe(1000);
    rows.ensure(395, 420);
    await settled();
    expect(rows.rowAt(402)?.id).toBe(1400);
    expect(rows.indexOf(1400)).toBe(402);
    expect(rows.indexOf("group n2")).toBe(502);
    expect(rows.rowAt(503)).toBeUndefined();
  });

  it("give keys of runs alone", async () => {
    const { rows } = await rowsOf(["n0", "n2"]);
    rows.ensure(0, 7);
    await settled();
    expect(await rows.keysIn(0, 7)).toEqual([0, 1, 2, 2000, 2001]);
    expect(keyOfItem(rows.rowAt(0) as Item)).toBe("group n0");
  });

  it("change their order with the sort, and read again only what is new", async () => {
    const { rows } = await rowsOf([]);
    rows.configure(["loss"], [{ id: "loss", desc: false }], new Set());
    expect([0, 1, 2].map((at) => rows.rowAt(at)?.group?.key)).toEqual(["n2", "n1", "n0"]);
  });

  it("keep what is shown when a read fails", async () => {
    let fails = false;
    const rows = new GroupedRows({
      by: "x",
      groups: () => (fails ? Promise.reject(new Error("away")) : Promise.resolve({ groups: [group("a")], total: 1, runs: 1 })),
      pages: () => async () => ({ rows: [], total: 0 }),
    });
    rows.configure([], [], new Set());
    await settled();
    fails = true;
    rows.refresh();
    await settled();
    expect(rows.error).toBeInstanceOf(Error);
    expect(rows.rowAt(0)?.group?.key).toBe("ta");
  });
});
