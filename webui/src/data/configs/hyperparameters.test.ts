import { describe, expect, it } from "vitest";

import { constants, converted, drawnRange, hasNoRange, rowsOf, shortened } from "./hyperparameters";

const SPACE = {
  lr: { type: "log", base: 10, minval: -4, maxval: -1 },
  opt: { name: { type: "categorical", vals: ["adam", "sgd"] }, momentum: 0.9 },
  layers: [1, 2],
  odd: { type: "unheard" },
  depth: { type: "const", val: 3 },
};

it("rows walk groups, and leave unknown types to the YAML", () => {
  expect(rowsOf(SPACE).map(({ name, type, isBare }) => [name, type, isBare])).toEqual([
    ["lr", "log", false],
    ["opt.name", "categorical", false],
    ["opt.momentum", "const", true],
    ["layers", "const", true],
    ["depth", "const", false],
  ]);
  expect(rowsOf(5)).toEqual([]);
});

describe("another type of a hyperparameter", () => {
  const of = (type: "const" | "int" | "double" | "log" | "categorical", spec: unknown, isBare = type === "const") => ({ type, spec, isBare });

  it("starts around a constant", () => {
    expect(converted(of("const", 0.1), "double")).toEqual({ type: "double", minval: 0.05, maxval: 0.2 });
    expect(converted(of("const", 64), "int")).toEqual({ type: "int", minval: 32, maxval: 128 });
    expect(converted(of("const", 0.001), "log")).toEqual({ type: "log", base: 10, minval: -4, maxval: -2 });
    expect(converted(of("const", 0.3), "log")).toEqual({ type: "log", base: 10, minval: -1, maxval: 0 });
    expect(converted(of("const", -2), "double")).toEqual({ type: "double", minval: -4, maxval: -1 });
    expect(converted(of("const", "adam"), "categorical")).toEqual({ type: "categorical", vals: ["adam"] });
    expect(converted(of("const", "adam"), "int")).toEqual({ type: "int", minval: 0, maxval: 1 });
  });

  it("keeps the range and the count", () => {
    const log = { type: "log", base: 10, minval: -3, maxval: -1, count: 4 };
    expect(converted(of("log", log), "double")).toEqual({ type: "double", minval: 0.001, maxval: 0.1, count: 4 });
    expect(converted(of("double", { type: "double", minval: 0.001, maxval: 0.1 }), "log")).toMatchObject({ minval: -3, maxval: -1 });
    expect(converted(of("categorical", { type: "categorical", vals: [8, 4, 16] }), "int")).toMatchObject({ minval: 4, maxval: 16 });
  });

  it("always has a low end below its high end", () => {
    for (const value of [0, 1, -1, 0.5, 1e-9, 1e12])
      for (const type of ["int", "double", "log"] as const) {
        const spec = converted(of("const", value), type) as { minval: number; maxval: number };
        expect(spec.minval).toBeLessThan(spec.maxval);
      }
  });

  it("is a constant again", () => {
    expect(converted(of("categorical", { type: "categorical", vals: ["a", "b"] }), "const")).toBe("a");
    expect(converted(of("int", { type: "int", minval: 4, maxval: 8 }), "const")).toBe(4);
  });
});

it("constants are written short, maps as constants are not", () => {
  expect(shortened(SPACE)).toMatchObject({ depth: 3, opt: { momentum: 0.9 } });
  const map = { type: "const", val: { a: 1 } };
  expect(shortened({ m: map })).toEqual({ m: map });
  expect(constants({ lr: 0.1, opt: { name: "adam" } })).toEqual({ lr: 0.1, opt: { name: "adam" } });
});

it("a space of constants has no range", () => {
  expect(hasNoRange(rowsOf({ a: 1 }))).toBe(true);
  expect(hasNoRange(rowsOf(SPACE))).toBe(false);
});

describe("a drawn range", () => {
  const drawn = (spec: unknown) => rowsOf({ x: spec }).map(drawnRange)[0];

  it("has values, not exponents, and their density", () => {
    const range = drawn({ type: "log", base: 10, minval: -4, maxval: -1 });
    expect([range?.low, range?.high]).toEqual([0.0001, 0.1]);
    expect(range?.points[0]).toBe(0);
    expect(range?.points[4]).toBeCloseTo(0.0307, 3);
    expect(range?.points[8]).toBeCloseTo(1, 9);
  });

  it("has each whole number of a small range, and the points of a grid", () => {
    expect(drawn({ type: "int", minval: 2, maxval: 4 })?.points).toEqual([0, 0.5, 1]);
    expect(drawn({ type: "double", minval: 0, maxval: 1, count: 3 })?.points).toEqual([0, 0.5, 1]);
    expect(drawn({ type: "int", minval: 1, maxval: 1000 })?.points).toHaveLength(9);
  });

  it("is missing where there is none", () => {
    for (const spec of [1, { type: "categorical", vals: [1, 2] }, { type: "int", minval: 3 }, { type: "double", minval: 2, maxval: 1 }, { type: "log", base: 10, minval: 1, maxval: 999 }])
      expect(drawn(spec)).toBeUndefined();
  });
});
