import { expect, it } from "vitest";

import { addProblem, listOf } from "./HyperparameterTable";

it("choices are a list of what is typed", () => {
  expect(listOf("adam, sgd, 3, 1e-2")).toEqual(["adam", "sgd", 3, 0.01]);
  expect(listOf("[1, 2], [3]")).toEqual([[1, 2], [3]]);
  expect(listOf("a, b: c")).toEqual(["a", { b: "c" }]);
  expect(listOf("a, [b")).toEqual(["a", "[b"]);
  expect(listOf("")).toEqual([]);
});

it("a new hyperparameter replaces none", () => {
  const rows = [{ name: "lr" }, { name: "opt.momentum" }];
  expect(addProblem("", rows)).toBeUndefined();
  expect(addProblem("depth", rows)).toBeUndefined();
  expect(addProblem("opt.beta", rows)).toBeUndefined();
  expect(addProblem("lr", rows)).toMatch(/already/);
  expect(addProblem("opt", rows)).toMatch(/already/);
  expect(addProblem("lr.x", rows)).toMatch(/already/);
  expect(addProblem("a..b", rows)).toMatch(/empty/);
  expect(addProblem("opt.type", rows)).toMatch(/choose another/);
});
