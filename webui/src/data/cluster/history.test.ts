import { describe, expect, it } from "vitest";

import { barsOf, segmentsOf, shareInUse, stepsOf, timeIn, type AgentHolding, type AgentMoment, type AgentState } from "./history";

const at = (second: number) => new Date(second * 1000).toISOString();
const moment = (second: number, state: AgentState, slots: number, used: number): AgentMoment => ({ at: at(second), state, slots, used });
const history = {
  until: at(100),
  moments: [moment(0, "accepting", 4, 0), moment(20, "accepting", 4, 4), moment(60, "closed", 4, 2), moment(80, "absent", 0, 0)],
};
const holding = (allocationId: string, since: number, until: number | null): AgentHolding => ({
  allocationId, taskId: "t", taskType: "TRIAL", experimentId: 1, trialId: 1, slots: 1, exitReason: "", exitError: "",
  since: at(since), until: until === null ? null : at(until),
});

describe("an agent over time", () => {
  it("has segments of equal states, and the time in each", () => {
    expect(segmentsOf(history)).toEqual([
      { state: "accepting", from: 0, to: 60 },
      { state: "closed", from: 60, to: 80 },
      { state: "absent", from: 80, to: 100 },
    ]);
    expect(timeIn(segmentsOf({ moments: [...history.moments, moment(90, "accepting", 4, 0)], until: at(100) }))).toEqual([
      ["accepting", 70],
      ["closed", 20],
      ["absent", 10],
    ]);
    expect(segmentsOf({ moments: [], until: at(1) })).toEqual([]);
  });

  it("is drawn in steps that last until the end", () => {
    expect(stepsOf(history, (each) => each.used)).toEqual({ x: [0, 20, 20, 60, 60, 80, 80, 100], y: [0, 0, 4, 4, 2, 2, 0, 0] });
    expect(stepsOf(history, (each) => each.slots)).toEqual({ x: [0, 20, 60, 80, 80, 100], y: [4, 4, 4, 4, 0, 0] });
    expect(stepsOf({ moments: [], until: at(9) }, (each) => each.used)).toEqual({ x: [], y: [] });
  });

  it("was in use for a share of its slot time, the time away left out", () => {
    expect(shareInUse(history)).toBeCloseTo((40 * 4 + 20 * 2) / (80 * 4));
    expect(shareInUse({ moments: [moment(0, "absent", 0, 0)], until: at(9) })).toBeUndefined();
  });

  it("held allocations on lanes without covering each other", () => {
    const allocations = [holding("c", 50, null), holding("a", -20, 40), holding("b", 10, 50)];
    const { bars, lanes } = barsOf({ allocations, until: at(100) }, 0);
    expect(lanes).toBe(2);
    expect(bars.map(({ holding: { allocationId }, lane, left, width }) => [allocationId, lane, left, width])).toEqual([
      ["a", 0, 0, 0.4],
      ["b", 1, 0.1, 0.4],
      ["c", 0, 0.5, 0.5],
    ]);
  });
});
