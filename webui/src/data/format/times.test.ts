import { describe, expect, it } from "vitest";

import { formatHours } from "./times";

describe("hours", () => {
  it.each([
    [0, "0 h"],
    [0.004, "< 0.01 h"],
    [12.254, "12.25 h"],
    [1234.5, "1,235 h"],
  ])("%f are read as %s", (hours, text) => {
    expect(formatHours(hours)).toBe(text);
  });
});
