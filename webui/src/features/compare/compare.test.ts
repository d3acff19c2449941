import { describe, expect, it } from "vitest";

import { rangeOf } from "@/features/metrics/useChartAddress";

import { idsOf } from "./ids";

describe("the address of a comparison", () => {
  it("names whole positive ids, each once", () => {
    expect(idsOf("3,1,3,x,-2,1.5,0")).toEqual([3, 1]);
  });

  it("is cut at fifty runs", () => {
    expect(idsOf(Array.from({ length: 80 }, (_, i) => i + 1).join(","))).toHaveLength(50);
  });

  it("has a zoom only if it is a range", () => {
    expect(rangeOf("10~20")).toEqual([10, 20]);
    expect([rangeOf(null), rangeOf("20~10"), rangeOf("a~b"), rangeOf("5")]).toEqual(
      Array(4).fill(undefined),
    );
  });
});
