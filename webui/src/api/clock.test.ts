import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { noteDate, onClockChange, serverNow } from "./clock";

const HERE = Date.parse("2026-01-01T12:00:00Z");

function answered(date: string, more: Record<string, string> = {}): Headers {
  return new Headers({ date, ...more });
}

beforeEach(() => {
  vi.useFakeTimers({ now: HERE });
  noteDate(answered("Thu, 01 Jan 2026 12:00:00 GMT"), HERE);
});
afterEach(() => void vi.useRealTimers());

test("clocks that agree to the second are the same", () => {
  noteDate(answered("Thu, 01 Jan 2026 12:00:01 GMT"), HERE);
  expect(serverNow()).toBe(HERE);
});

test("a machine that is hours behind takes over the master's clock", () => {
  noteDate(answered("Thu, 01 Jan 2026 17:00:00 GMT"), HERE);
  expect(serverNow()).toBe(Date.parse("2026-01-01T17:00:00.500Z"));
  vi.advanceTimersByTime(1000);
  expect(serverNow()).toBe(Date.parse("2026-01-01T17:00:01.500Z"));
});

test("a clock that is set right counts again", () => {
  noteDate(answered("Thu, 01 Jan 2026 17:00:00 GMT"), HERE);
  noteDate(answered("Thu, 01 Jan 2026 12:00:00 GMT"), HERE);
  expect(serverNow()).toBe(HERE);
});

test("a slow answer, one of a cache and one without a date change nothing", () => {
  noteDate(answered("Thu, 01 Jan 2026 11:59:50 GMT"), HERE - 20_000);
  noteDate(answered("Thu, 01 Jan 2026 07:00:00 GMT", { age: "18000" }), HERE);
  noteDate(new Headers(), HERE);
  noteDate(answered("noon"), HERE);
  expect(serverNow()).toBe(HERE);
});

test("a change is told, and nothing else", () => {
  const heard = vi.fn();
  const stop = onClockChange(heard);
  noteDate(answered("Thu, 01 Jan 2026 12:00:00 GMT"), HERE);
  expect(heard).not.toHaveBeenCalled();
  noteDate(answered("Thu, 01 Jan 2026 17:00:00 GMT"), HERE);
  expect(heard).toHaveBeenCalledTimes(1);
  stop();
});
