import { expect, it } from "vitest";

import { chartsOf } from "./Activity";

it("submissions are split by what became of them, slot seconds become hours", () => {
  const { names, outcomes, hours } = chartsOf([
    { day: "2026-01-30", submitted: 0, completed: 0, failed: 0, slotSeconds: 0 },
    { day: "2026-01-31", submitted: 5, completed: 3, failed: 1, slotSeconds: 5400 },
  ]);
  expect(names).toEqual(["2026-01-30", "2026-01-31"]);
  expect(outcomes.map((part) => [part.label, part.values[1]])).toEqual([
    ["Completed", 3],
    ["Failed", 1],
    ["Open or canceled", 1],
  ]);
  expect(hours[0]?.values).toEqual([0, 1.5]);
});
