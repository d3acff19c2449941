import { expect, it } from "vitest";

import { rules } from "./rules";
import { isFinished, stateFamily } from "./states";

it("colours no state as an end that still changes", () => {
  for (const state of [...rules.states.changing, ...rules.states.unended]) {
    expect(["done", "failed", "ended"]).not.toContain(stateFamily(`STATE_${state}`));
    expect(isFinished(`STATE_${state}`)).toBe(false);
  }
});

it.each(["STATE_COMPLETED", "STATE_DELETE_FAILED", "TASK_STATE_TERMINATED", undefined])("ends with %s", (state) => {
  expect(isFinished(state)).toBe(true);
});
