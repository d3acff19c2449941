import { describe, expect, it } from "vitest";

import { dayText, sumsOf, toDay } from "./days";

describe("bars by day", () => {
  it("have a height for the sum of their parts", () => {
    const part = (values: number[]) => ({ label: "a", colour: "", values });
    expect(sumsOf(3, [part([1, 2, 3]), part([0, 1])])).toEqual([1, 3, 3]);
  });

  it("are read out with what is there", () => {
    const text = (...values: [string, number][]) => dayText("2026-01-31", values, String);
    expect(text(["Completed", 3], ["Failed", 0], ["Other", 1])).toBe("2026-01-31: 3 completed, 1 other");
    expect(text(["Completed", 0], ["Failed", 0])).toBe("2026-01-31: none");
    expect(text(["Slot hours", 2])).toBe("2026-01-31: 2");
  });

  it("are reached by arrows, from the newest", () => {
    expect(toDay("ArrowLeft", undefined, 30)).toBe(29);
    expect(toDay("ArrowLeft", 29, 30)).toBe(28);
    expect(toDay("ArrowLeft", 0, 30)).toBe(0);
    expect(toDay("ArrowRight", 29, 30)).toBe(29);
    expect([toDay("Home", 5, 30), toDay("End", 5, 30)]).toEqual([0, 29]);
    expect(toDay("Escape", 5, 30)).toBeUndefined();
    expect(toDay("Escape", undefined, 30)).toBe("none");
    expect(toDay("a", 5, 30)).toBe("none");
  });
});
