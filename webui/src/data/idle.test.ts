import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { whenIdle } from "./idle";

describe("work that nothing waits for", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is done later, once", () => {
    const work = vi.fn();
    const leave = whenIdle(work);
    expect(work).not.toHaveBeenCalled();
    vi.advanceTimersByTime(2000);
    leave();
    dispatchEvent(new Event("pagehide"));
    expect(work).toHaveBeenCalledTimes(1);
  });

  it("is done at once when its view is left", () => {
    const work = vi.fn();
    whenIdle(work)();
    vi.advanceTimersByTime(2000);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it("is done when the page is left", () => {
    const work = vi.fn();
    whenIdle(work);
    dispatchEvent(new Event("pagehide"));
    expect(work).toHaveBeenCalledTimes(1);
  });
});
