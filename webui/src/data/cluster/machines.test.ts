import { describe, expect, it } from "vitest";

import { formatDollars, isOnDemand } from "./machines";

describe("prices", () => {
  it("shows cents, and more digits of small prices", () => {
    expect(formatDollars(1.5)).toBe("$1.50");
    expect(formatDollars(0.0464)).toBe("$0.0464");
    expect(formatDollars(0)).toBe("$0.00");
  });
  it("shows a dash where a price is unknown", () => {
    expect(formatDollars(undefined)).toBe("–");
  });
});

describe("pools of machines on demand", () => {
  it("are those of a cloud", () => {
    expect(isOnDemand({ type: "RESOURCE_POOL_TYPE_AWS" })).toBe(true);
    expect(isOnDemand({ type: "RESOURCE_POOL_TYPE_STATIC" })).toBe(false);
    expect(isOnDemand({})).toBe(false);
  });
});
