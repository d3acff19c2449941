import { renderHook, waitFor } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";

import { usePagedRows } from "./usePagedRows";

interface Row {
  id: number;
}

const keyOf = (row: Row) => row.id;

describe("the rows of a list", () => {
  afterEach(() => void vi.useRealTimers());

  it("are asked for once, also where a render is given up and done again", async () => {
    const fetch = vi.fn(async () => ({ rows: [{ id: 1 }], total: 1 }));
    const first = renderHook(() => usePagedRows("once", fetch, keyOf));
    first.unmount();
    const second = renderHook(() => usePagedRows("once", fetch, keyOf));
    await waitFor(() => expect(second.result.current.rows.total).toBe(1));
    renderHook(() => usePagedRows("once", fetch, keyOf));
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it("stand there on the way back, and are read again when they are old", async () => {
    const fetch = vi.fn(async () => ({ rows: [{ id: 1 }], total: 1 }));
    const first = renderHook(() => usePagedRows("back", fetch, keyOf));
    await waitFor(() => expect(first.result.current.rows.total).toBe(1));
    first.unmount();
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
    const second = renderHook(() => usePagedRows("back", fetch, keyOf));
    expect(second.result.current.rows.total).toBe(1);
    await waitFor(() => expect(fetch).toHaveBeenCalledTimes(2));
    vi.restoreAllMocks();
  });
});
