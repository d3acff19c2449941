import { describe, expect, it, vi } from "vitest";

import { KEPT_PAGES, PAGE_ROWS, PagedRows, type PageAnswer } from "./pagedRows";

interface Row {
  id: number;
  text?: string;
}

/** A list of `total` rows; answers come when the test says so. */
function fake(total: number) {
  const waiting: { offset: number; signal: AbortSignal; answer(): void; fail(error: Error): void }[] = [];
  const fetch = vi.fn(
    (offset: number, limit: number, signal: AbortSignal) =>
      new Promise<PageAnswer<Row>>((resolve, reject) => {
        const rows = Array.from({ length: Math.max(0, Math.min(limit, total - offset)) }, (_, at) => ({ id: offset + at }));
        waiting.push({ offset, signal, answer: () => resolve({ rows, total }), fail: reject });
      }),
  );
  const rows = new PagedRows<Row>(fetch, (row) => row.id);
  const settle = async () => {
    while (waiting.length > 0) {
      waiting.splice(0).forEach((each) => each.answer());
      await Promise.resolve();
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  return { rows, fetch, waiting, settle };
}

const offsets = (fetch: ReturnType<typeof fake>["fetch"]) => fetch.mock.calls.map(([offset]) => offset);

describe("rows in pages", () => {
  it("reads the shown page first, then its neighbours", async () => {
    const { rows, fetch, settle } = fake(100_000);
    rows.ensure(1000, 1040);
    expect(offsets(fetch)).toEqual([1000]);
    expect(rows.rowAt(1000)).toBeUndefined();
    await settle();
    expect(rows.total).toBe(100_000);
    expect(rows.rowAt(1040)).toEqual({ id: 1040 });
    expect(offsets(fetch).sort((a, b) => a - b)).toEqual([800, 1000, 1200]);
  });

  it("asks for nothing beyond the end", async () => {
    const { rows, fetch, settle } = fake(150);
    rows.ensure(0, 30);
    await settle();
    expect(offsets(fetch)).toEqual([0]);
  });

  it("ends with the last row where the master left one out", async () => {
    const rows = new PagedRows<Row>(() => Promise.resolve({ rows: [{ id: 1 }, { id: 3 }], total: 3 }), (row) => row.id);
    rows.ensure(0, 30);
    await vi.waitFor(() => expect(rows.total).toBe(2));
    expect(rows.rowAt(1)).toEqual({ id: 3 });
  });

  it("aborts pages that were scrolled past", async () => {
    const { rows, waiting, settle } = fake(100_000);
    rows.ensure(0, 10);
    await settle();
    rows.ensure(5000, 5010);
    const passed = waiting.filter((each) => each.offset >= 4800 && each.offset <= 5200);
    rows.ensure(50_000, 50_010);
    expect(passed.length).toBe(3);
    expect(passed.every((each) => each.signal.aborted)).toBe(true);
    await settle();
    expect(rows.rowAt(5000)).toBeUndefined();
    expect(rows.rowAt(50_000)).toEqual({ id: 50_000 });
  });

  it("keeps the pages that were shown last", async () => {
    const { rows, settle } = fake(100_000);
    for (let page = 0; page < KEPT_PAGES + 5; page += 1) {
      rows.ensure(page * PAGE_ROWS, page * PAGE_ROWS + 10);
      await settle();
    }
    expect(rows.rowAt(0)).toBeUndefined();
    expect(rows.rowAt((KEPT_PAGES + 4) * PAGE_ROWS)).toBeDefined();
    expect([...rows.loaded()].length).toBe(KEPT_PAGES * PAGE_ROWS);
  });

  it("keeps rows during a refresh, and takes changes in place", async () => {
    const { rows, fetch, settle } = fake(1000);
    rows.ensure(0, 10);
    await settle();
    expect(rows.patch(7, (row) => ({ ...row, text: "changed" }))).toBe(true);
    expect(rows.patch(999, (row) => row)).toBe(false);
    expect(rows.rowAt(7)).toEqual({ id: 7, text: "changed" });
    rows.refresh();
    expect(rows.rowAt(7)).toBeDefined();
    await settle();
    expect(rows.rowAt(7)).toEqual({ id: 7 });
    expect(offsets(fetch).filter((each) => each === 0).length).toBe(2);
  });

  it("shows a refusal, does not repeat it by itself, and retries when asked", async () => {
    const { rows, fetch, waiting, settle } = fake(1000);
    rows.ensure(0, 10);
    waiting.splice(0).forEach((each) => each.fail(new Error("no")));
    await new Promise((resolve) => setTimeout(resolve));
    expect(rows.error).toEqual(new Error("no"));
    rows.ensure(0, 12);
    expect(fetch).toHaveBeenCalledTimes(1);
    rows.retry();
    await settle();
    expect(rows.error).toBeUndefined();
    expect(rows.rowAt(3)).toEqual({ id: 3 });
  });

  it("finds the keys of a range across pages that are not loaded", async () => {
    const { rows, waiting, settle } = fake(1000);
    rows.ensure(0, 10);
    await settle();
    const keys = rows.keysIn(190, 605);
    const answered = setInterval(() => waiting.splice(0).forEach((each) => each.answer()));
    expect(await keys).toEqual(Array.from({ length: 416 }, (_, at) => 190 + at));
    clearInterval(answered);
  });
});
