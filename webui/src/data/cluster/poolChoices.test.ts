import { describe, expect, it } from "vitest";

import { chosenPool, poolChoices, poolHint, slotsProblem } from "./poolChoices";

const agent = (id: string, pool: string, slots: number) => ({
  id,
  resourcePools: [pool],
  slots: Object.fromEntries(Array.from({ length: slots }, (_, at) => [String(at), { id: String(at) }])),
});
const POOLS = [
  { name: "gpu", defaultComputePool: true, slotsPerAgent: -1, slotsAvailable: 6, slotsUsed: 5 },
  { name: "cloud", slotsPerAgent: 8, maxAgents: 3 },
  { name: "aux", defaultAuxPool: true, slotsPerAgent: -1 },
];
const AGENTS = [agent("a", "gpu", 4), agent("b", "gpu", 2)];

describe("the pools of a workspace", () => {
  const choices = poolChoices(POOLS, AGENTS, undefined);
  it("know their slots, on demand those that may start", () => {
    expect(choices.map(({ name, total, largest, free }) => [name, total, largest, free])).toEqual([
      ["gpu", 6, 4, 1],
      ["cloud", 24, 8, 0],
      ["aux", undefined, undefined, 0],
    ]);
  });
  it("are those that are bound to it", () => {
    expect(poolChoices(POOLS, AGENTS, ["cloud"]).map(({ name }) => name)).toEqual(["cloud"]);
  });
  it("have defaults for tasks with and without slots", () => {
    expect(chosenPool(choices, "", 1)?.name).toBe("gpu");
    expect(chosenPool(choices, "", 0)?.name).toBe("aux");
    expect(chosenPool(choices, "nowhere", 0)).toBeUndefined();
  });
  it("refuse more slots than an agent, or than all of them have", () => {
    const gpu = choices[0];
    expect(slotsProblem(gpu, 5, true)).toBe("No agent of pool gpu has 5 slots.");
    expect(slotsProblem(gpu, 5, false)).toBeUndefined();
    expect(slotsProblem(gpu, 7, false)).toBe("Pool gpu does not have 7 slots.");
    expect(slotsProblem(choices[2], 99, true)).toBeUndefined();
    expect(slotsProblem(gpu, "x", true)).toBeUndefined();
  });
  it("say what they have", () => {
    expect(poolHint(choices[0], true)).toBe("Pool gpu has 6 slots, 1 free, at most 4 on one agent.");
    expect(poolHint(choices[2], true)).toBe("Pool aux has no agent yet.");
  });
});
