import { describe, expect, it } from "vitest";

import { durationOf, isoOf, localOf, scheduleRefusal } from "./schedule";

it("round-trips a local time", () => {
  const at = Date.parse("2026-03-04T15:06:00Z");
  expect(Date.parse(isoOf(localOf(at)))).toBe(at);
});

it("writes hours as minutes", () => expect(durationOf("1.5")).toBe("90m"));

describe("scheduleRefusal", () => {
  const NONE = { start: undefined, end: undefined, hours: undefined };
  it("accepts an open end", () => expect(scheduleRefusal(NONE)).toBeUndefined());
  it("refuses hours that are none", () => {
    expect(scheduleRefusal({ ...NONE, hours: "0" })).toMatch(/above 0/);
    expect(scheduleRefusal({ ...NONE, hours: "x" })).toMatch(/above 0/);
  });
  it("refuses an end before the start", () => {
    expect(scheduleRefusal({ ...NONE, start: "2026-01-02T10:00", end: "2026-01-02T09:00" })).toMatch(/before/);
    expect(scheduleRefusal({ ...NONE, start: "2026-01-02T10:00", end: "2026-01-02T11:00" })).toBeUndefined();
  });
});
