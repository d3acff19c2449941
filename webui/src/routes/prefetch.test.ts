import { afterEach, describe, expect, it, vi } from "vitest";

import { keys } from "@/data/keys";
import { queryClient } from "@/data/queryClient";

import { prefetch } from "./prefetch";

/** The keys that an address asks for. */
function askedFor(path: string): unknown[] {
  queryClient.clear();
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("{}", { headers: { "content-type": "application/json" } })));
  prefetch(path);
  return queryClient.getQueryCache().getAll().map((each) => each.queryKey);
}

describe("the first requests of an address", () => {
  afterEach(() => {
    queryClient.clear();
    vi.unstubAllGlobals();
  });

  it("are those of its list", () => {
    expect(askedFor("/projects/3/runs")).toEqual([
      keys.project(3),
      keys.columns(3, "run"),
      ["projects", 3, "views"],
      keys.users(),
    ]);
    expect(askedFor("/projects/3/searches")).toContainEqual(keys.columns(3, "experiment"));
    expect(askedFor("/projects/3/notes")).toEqual([keys.project(3)]);
  });

  it("are those of its run or search", () => {
    expect(askedFor("/experiments/7/metrics")).toEqual([keys.experiment(7), keys.experimentTrials(7)]);
    expect(askedFor("/experiments/7/trials/9/logs")).toEqual([keys.trial(9), keys.experiment(7)]);
    expect(askedFor("/trials/9/overview")).toEqual([keys.trial(9)]);
    expect(askedFor("/searches/7/runs")).toEqual([keys.experiment(7)]);
  });

  it("are none where the address names no number", () => {
    expect(askedFor("/projects/x/runs")).toEqual([]);
    expect(askedFor("/experiments/-1/metrics")).toEqual([]);
    expect(askedFor("/dashboard")).toEqual([]);
  });
});
