import { describe, expect, it, vi } from "vitest";

import { makeReader } from "./together";
import type { SeriesQuery, TrialSeries } from "./types";

function query(name: string, trialIds = [1, 2]): SeriesQuery {
  return { trialIds, metrics: [{ group: "training", name }], x: "batches", buckets: 100 };
}

/** Series that say which metric they are of. */
async function answerOf({ trialIds, metrics }: SeriesQuery): Promise<TrialSeries[]> {
  return trialIds.flatMap((trialId) => metrics.map((each) => ({ ...each, trialId }) as TrialSeries));
}

describe("charts that read together", () => {
  it("share a request, and each gets its own metric", async () => {
    const read = vi.fn(answerOf);
    const reader = makeReader(read);
    const [a, b] = await Promise.all([reader(query("a")), reader(query("b"))]);
    expect(read).toHaveBeenCalledTimes(1);
    expect(a?.map((each) => [each.trialId, each.name])).toEqual([[1, "a"], [2, "a"]]);
    expect(b?.map((each) => each.name)).toEqual(["b", "b"]);
  });

  it("of other trials ask for themselves", async () => {
    const read = vi.fn(answerOf);
    const reader = makeReader(read);
    await Promise.all([reader(query("a")), reader(query("a", [3]))]);
    expect(read.mock.calls.map(([asked]) => asked.trialIds)).toEqual([[1, 2], [3]]);
  });

  it("are split, so that the first ones do not wait for all", async () => {
    const read = vi.fn(answerOf);
    const reader = makeReader(read);
    await Promise.all([..."abcdefghijklmn"].map((name) => reader(query(name))));
    expect(read.mock.calls.map(([asked]) => asked.metrics.length)).toEqual([12, 2]);
  });

  it("with very many lines have a request each", async () => {
    const read = vi.fn(answerOf);
    const reader = makeReader(read);
    const many = Array.from({ length: 100 }, (_, i) => i + 1);
    await Promise.all([..."ab"].map((name) => reader({ ...query(name, many), buckets: 2000 })));
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("are given up when none of them is wanted any more", async () => {
    let asked: AbortSignal | undefined;
    const reader = makeReader((_query, signal) => {
      asked = signal;
      return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
    });
    const [first, second] = [new AbortController(), new AbortController()];
    const reads = [reader(query("a"), first.signal), reader(query("b"), second.signal)];
    const settled = Promise.allSettled(reads);
    await vi.waitFor(() => expect(asked).toBeDefined());
    first.abort();
    expect(asked?.aborted).toBe(false);
    second.abort();
    expect(asked?.aborted).toBe(true);
    expect((await settled).map((each) => each.status)).toEqual(["rejected", "rejected"]);
  });

  it("all hear of a failure", async () => {
    const reader = makeReader(() => Promise.reject(new Error("no")));
    const settled = await Promise.allSettled([reader(query("a")), reader(query("b"))]);
    expect(settled.map((each) => each.status)).toEqual(["rejected", "rejected"]);
  });
});
