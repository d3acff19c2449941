import { describe, expect, it } from "vitest";

import { goodness, makeAxis, variedNames, type HpRun } from "./axis";
import { nearest, nextPoint } from "./CanvasChart";
import { bestSoFar, brushed, cellCount, contourLines, heatCells, lanesOf, reordered, rungColumns, trendOf } from "./layout";

const run = (id: string, lr: unknown, metric: number | undefined): HpRun => ({ id, label: id, hparams: { lr, fixed: 1 }, metric });

describe("axes", () => {
  it("are logarithmic over two decades of positive values", () => {
    const axis = makeAxis("lr", [1e-4, 1e-1]);
    expect(axis.kind).toBe("log");
    expect(axis.place(1e-4)).toBeCloseTo(0);
    expect(axis.place(Math.sqrt(1e-5))).toBeCloseTo(0.5);
    expect(axis.at(1)).toBeCloseTo(0.1);
    expect(axis.place(0)).toBeUndefined();
    expect(makeAxis("lr", [1, 50]).kind).toBe("linear");
    expect(makeAxis("lr", [-1, 500], "log").kind).toBe("linear");
  });

  it("have categories for texts, switches and mixed values", () => {
    const axis = makeAxis("opt", ["sgd", "adam", true, 10, 9, undefined]);
    expect(axis.categories).toEqual(["9", "10", "adam", "sgd", "true"]);
    expect(axis.place("sgd")).toBeCloseTo(0.75);
    expect(axis.place("gone")).toBeUndefined();
    expect(axis.place(undefined)).toBeUndefined();
  });

  it("cope with one value, and with none", () => {
    expect(makeAxis("x", [3, 3]).place(3)).toBeCloseTo(0.5);
    expect(makeAxis("x", ["a"]).place("a")).toBe(0.5);
    expect(makeAxis("x", [NaN, Infinity]).place(NaN)).toBeDefined();
    expect(makeAxis("x", []).ticks).toEqual([]);
  });

  it("show what differs, and how good a run is", () => {
    const runs = [run("a", 1, 5), run("b", 2, 1), run("c", 2, undefined)];
    expect(variedNames(runs)).toEqual(["lr"]);
    expect(Object.fromEntries(goodness(runs, true))).toEqual({ a: 0, b: 1 });
    expect(Object.fromEntries(goodness(runs, false))).toEqual({ a: 1, b: 0 });
  });
});

describe("brushes", () => {
  const runs = [run("a", 0, 1), run("b", 5, 2), run("c", 10, 3), run("d", undefined, 1)];
  const lr = makeAxis("lr", [0, 10]);
  const metric = makeAxis("m", [1, 3]);
  const valueOf = (each: HpRun, axis: typeof lr) => (axis.name === "m" ? each.metric : each.hparams["lr"]);

  it("hold together", () => {
    expect([...brushed(runs, [lr, metric], {}, valueOf)]).toEqual(["a", "b", "c", "d"]);
    expect([...brushed(runs, [lr, metric], { lr: { from: 0.4, to: 1 } }, valueOf)]).toEqual(["b", "c"]);
    expect([...brushed(runs, [lr, metric], { lr: { from: 0.4, to: 1 }, m: { from: 0, to: 0.5 } }, valueOf)]).toEqual(["b"]);
  });

  it("axes change their order", () => {
    expect(reordered(["a", "b", "c"], "c", -1)).toEqual(["a", "c", "b"]);
    expect(reordered(["a", "b", "c"], "a", -1)).toEqual(["a", "b", "c"]);
  });
});

describe("layouts", () => {
  it("fit a line", () => {
    const line = trendOf([0, 1, 2, 3].map((x) => ({ x, y: 1 - 2 * x })));
    expect(line?.slope).toBeCloseTo(-2);
    expect(line?.offset).toBeCloseTo(1);
    expect(line?.correlation).toBeCloseTo(-1);
    expect(trendOf([{ x: 1, y: 1 }, { x: 1, y: 2 }, { x: 1, y: 3 }])).toBeUndefined();
  });

  it("average cells, edges inside", () => {
    const cells = heatCells([{ x: 0, y: 0, value: 1 }, { x: 0.1, y: 0.1, value: 3 }, { x: 1, y: 1, value: 7 }], 4, 4);
    expect(cells).toContainEqual({ column: 0, row: 0, mean: 2, count: 2 });
    expect(cells).toContainEqual({ column: 3, row: 3, mean: 7, count: 1 });
    expect(cellCount(makeAxis("x", ["a", "b"]), 100)).toBe(2);
    expect(cellCount(makeAxis("x", [0, 1]), 100)).toBe(10);
  });

  it("draw contours, where the values differ", () => {
    const points = [0, 1].flatMap((x) => [0, 1].map((y) => ({ x, y, value: x })));
    const lines = contourLines(points, 4);
    expect(lines).toHaveLength(4);
    expect(lines.every((line) => line.coordinates.length > 0)).toBe(true);
    expect(contourLines(points.map((point) => ({ ...point, value: 1 })), 4)).toEqual([]);
    expect(contourLines(points.slice(0, 3), 4)).toEqual([]);
  });

  it("keep the best value", () => {
    expect(bestSoFar([undefined, 3, NaN, 5, 1], true)).toEqual([undefined, 3, 3, 3, 1]);
    expect(bestSoFar([3, 5, 1], false)).toEqual([3, 5, 5]);
  });

  it("tell trials that a rung stopped from those that passed it", () => {
    const rung = (reached: number, stopped: number) => ({ length: 1, training: 2, failed: 1, reached, stopped, best: null, passes: null });
    const [first, top] = rungColumns([rung(9, 6), rung(2, 0)]);
    expect(first).toMatchObject({ passed: 3, isTop: false, training: 2 });
    expect(top).toMatchObject({ passed: 2, isTop: true });
    expect(rungColumns([])).toEqual([]);
  });

  it("put runs into free lanes", () => {
    const span = (id: string, start: number, end: number | undefined) => ({ id, label: id, start, end, state: "COMPLETED" });
    const lanes = lanesOf([span("c", 10, undefined), span("a", 0, 10), span("b", 5, 20)], 30);
    expect(lanes.map(({ id, lane }) => [id, lane])).toEqual([["a", 0], ["b", 1], ["c", 0]]);
  });
});

describe("points", () => {
  const points = [{ id: "a", x: 0, y: 0, text: "" }, { id: "b", x: 10, y: 0, text: "" }];

  it("are found near the pointer and by arrow keys", () => {
    expect(nearest(points, [7, 1])?.id).toBe("b");
    expect(nearest(points, [99, 99])).toBeUndefined();
    expect(nextPoint("ArrowRight", points, undefined)?.id).toBe("a");
    expect(nextPoint("ArrowRight", points, "a")?.id).toBe("b");
    expect(nextPoint("ArrowLeft", points, "a")?.id).toBe("a");
    expect(nextPoint("End", points, "a")?.id).toBe("b");
    expect(nextPoint("x", points, "a")).toBeUndefined();
  });
});
