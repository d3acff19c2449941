// @vitest-environment jsdom
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "@/api/errors";

import { refusalOf, submitRefusal, useCheck } from "./checked";
import { openDraft } from "./draft";

const refusal = (status: number, message = "<config>.name: is wrong") => new ApiError("POST", "/x", status, message);

describe("useCheck", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("asks once after a pause, about the last text", async () => {
    const ask = vi.fn(async () => ({ warnings: ["w"] }));
    const { result, rerender } = renderHook(({ draft }) => useCheck(draft, ask), { initialProps: { draft: openDraft("a: 1") } });
    const last = openDraft("a: 3");
    rerender({ draft: openDraft("a: 2") });
    rerender({ draft: last });
    expect(ask).not.toHaveBeenCalled();
    await act(() => vi.advanceTimersByTimeAsync(1000));
    expect(ask).toHaveBeenCalledTimes(1);
    expect(ask).toHaveBeenCalledWith(last, expect.anything());
    expect(result.current).toMatchObject({ state: "valid", warnings: ["w"] });
  });

  it("does not ask about broken YAML", async () => {
    const ask = vi.fn(async () => ({ warnings: [] }));
    const broken = openDraft("a: [");
    const { result } = renderHook(() => useCheck(broken, ask));
    await act(() => vi.advanceTimersByTimeAsync(1000));
    expect(ask).not.toHaveBeenCalled();
    expect(result.current.state).toBe("refused");
  });

  it("keeps problems in sight while the next text is checked", async () => {
    const ask = vi.fn(() => Promise.reject(refusal(400)));
    const { result, rerender } = renderHook(({ draft }) => useCheck(draft, ask), { initialProps: { draft: openDraft("name: 1") } });
    await act(() => vi.advanceTimersByTimeAsync(1000));
    expect(result.current).toMatchObject({ state: "refused", problems: [{ line: 1, path: ["name"] }] });
    rerender({ draft: openDraft("name: 2") });
    expect(result.current).toMatchObject({ state: "checking", problems: [{ line: 1 }] });
  });
});

it("a lost connection is no refusal of the text", () => {
  const draft = openDraft("name: 1");
  expect(refusalOf(refusal(0, "gone"), draft)).toMatchObject({ state: "unknown", reason: "gone" });
  expect(refusalOf(refusal(503), draft).state).toBe("unknown");
  expect(submitRefusal(draft, refusalOf(refusal(0), draft))).toBeUndefined();
  expect(submitRefusal(draft, refusalOf(refusal(400), draft))).toMatch(/see the problem/);
  expect(submitRefusal(openDraft("a: ["), refusalOf(refusal(0), draft))).toMatch(/not valid YAML/);
});
