import { describe, expect, it } from "vitest";

import { CHARTS_A_STEP, movedId, searchIds, sectionOf, sectionsOf, withFirst, withinBudget, withSection } from "./math/grid";

describe("a grid of charts", () => {
  const ids = ["validation.acc", "training.loss", "training.layer10", "training.layer2", "training.gpu/util", "training.gpu/power", "training.cpu/util"];

  it("has sections by prefix, names in the order of their numbers", () => {
    expect(sectionOf("training.gpu/util")).toBe("training.gpu");
    expect(sectionOf("loss")).toBe("metrics");
    expect(sectionsOf(ids, []).map(({ name, ids: list }) => [name, list])).toEqual([
      ["training", ["training.cpu/util", "training.layer2", "training.layer10", "training.loss"]],
      ["training.gpu", ["training.gpu/power", "training.gpu/util"]],
      ["validation", ["validation.acc"]],
    ]);
  });

  it("keeps the order that the user made, new metrics behind it", () => {
    const order = withSection([], ["training.loss", "training.layer2"]);
    expect(sectionsOf(ids, order)[0]?.ids).toEqual(["training.loss", "training.layer2", "training.cpu/util", "training.layer10"]);
    expect(withSection(["a", "b", "x"], ["b", "a"])).toEqual(["x", "b", "a"]);
  });

  it("begins with the chart that matters most, unless the user ordered its section", () => {
    const sections = sectionsOf([...ids, "validation.loss"], []);
    expect(withFirst(sections, "validation.loss", [])[0]).toEqual({ name: "validation", ids: ["validation.loss", "validation.acc"] });
    expect(withFirst(sections, "validation.loss", ["validation.acc"])[0]?.ids[0]).toBe("validation.acc");
    expect(withFirst(sections, "gone", [])).toEqual(sections);
  });

  it("moves a chart to a place", () => {
    expect(movedId(["a", "b", "c"], "c", 0)).toEqual(["c", "a", "b"]);
    expect(movedId(["a", "b", "c"], "a", 1)).toEqual(["b", "a", "c"]);
    expect(movedId(["a", "b", "c"], "a", 99)).toEqual(["b", "c", "a"]);
  });

  it("is searched by pattern, and shows all with a wrong one", () => {
    expect(searchIds(ids, "LOSS|acc").ids).toEqual(["validation.acc", "training.loss"]);
    expect(searchIds(ids, "(").error).toBeTruthy();
    expect(searchIds(ids, "(").ids).toHaveLength(7);
  });

  it("draws the first sections of 5,000 charts, whatever their prefixes", () => {
    const charts = Array.from({ length: 5000 }, (_, at) => `training.layer${Math.floor(at / 2)}/value${at % 2}`);
    const sections = sectionsOf(charts, []);
    expect(sections).toHaveLength(2500);
    expect(withinBudget(sections, [], 240)).toEqual(sections.slice(0, 80));
    expect(withinBudget(sections, sections.map((each) => each.name), 240)).toHaveLength(240);
    expect(withinBudget(sections, [], 10_000)).toEqual(sections);
  });

  it("draws a section that is larger than the budget, by the cost of one step", () => {
    const large = { name: "a", ids: Array.from({ length: 5000 }, (_, at) => `a.${at}`) };
    const small = { name: "b", ids: ["b.1"] };
    expect(withinBudget([large, small], [], 10)).toEqual([large]);
    expect(withinBudget([large, small], [], CHARTS_A_STEP + 3)).toEqual([large, small]);
    expect(withinBudget([], [], 10)).toEqual([]);
  });
});
