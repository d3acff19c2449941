import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";

import { api } from "@/api/client";

import { appended, pointsOf, rebucketed, sinceFirst } from "./merge";
import { readSeries, seriesOf, withPlaces } from "./read";
import type { LiveReports, TrialSeries } from "./types";
import { withReports } from "./useSeries";

function series(change: Partial<TrialSeries & { placesOf: string }> = {}): TrialSeries {
  return {
    trialId: 1, group: "validation", name: "loss", count: 2, bucketed: false,
    x: [10, 20], last: [0.5, 0.4], min: [], max: [], n: [], time: [100, 110],
    nonFinite: [], nonFiniteCount: 0, withoutX: 0, ...change,
  };
}

const reports: LiveReports = {
  trialId: 1,
  group: "validation",
  batches: [30, 40, 50],
  metrics: { loss: [0.3, null, "NaN"], acc: [1, 2, 3] },
  times: ["1970-01-01T00:02:00Z", "1970-01-01T00:02:10Z", "1970-01-01T00:02:20Z"],
};

afterEach(() => void vi.unstubAllGlobals());

describe("places", () => {
  it("are those of another metric of the same trial and group", () => {
    const accuracy = { name: "accuracy", placesOf: "loss", x: [], n: [], time: [], last: [0.8, 0.9] };
    const sent = [series(), series(accuracy), series({ trialId: 2, x: [1, 2] }), series({ ...accuracy, trialId: 2 })];
    const found = withPlaces(sent);
    expect(found.map((each) => each.x)).toEqual([[10, 20], [10, 20], [1, 2], [1, 2]]);
    expect(found[1]).toEqual(series({ name: "accuracy", last: [0.8, 0.9] }));
  });
});

describe("live reports", () => {
  it("follow the series, with values that are not finite apart", () => {
    const next = appended(series(), pointsOf(reports, "loss", "batches"), 100);
    expect(next?.x).toEqual([10, 20, 30]);
    expect(next?.last).toEqual([0.5, 0.4, 0.3]);
    expect(next?.count).toBe(3);
    expect(next?.nonFinite).toEqual([{ x: 50, value: "NaN" }]);
  });

  it("lie on the axis that is asked for", () => {
    expect(pointsOf(reports, "loss", "time").map((point) => point.x)).toEqual([120, 140]);
    expect(pointsOf(reports, "loss", "metric:acc").map((point) => point.x)).toEqual([1, 3]);
    expect(pointsOf(reports, "loss", "epochs").map((point) => point.x)).toEqual([undefined, undefined]);
    for (const name of ["epoch", "epochs"]) {
      const named = { ...reports, metrics: { ...reports.metrics, [name]: [1, 2, 3] } };
      expect(pointsOf(named, "loss", "epochs").map((point) => point.x)).toEqual([1, 3]);
    }
  });

  it("of a trial that started again make the series be read again", () => {
    const again = { ...reports, batches: [15], metrics: { loss: [9] } };
    expect(withReports([series()], [again], { x: "batches", buckets: 100 })).toBeUndefined();
  });

  it("change their own trial and group only, inside the range", () => {
    const other = series({ trialId: 2 });
    const next = withReports([series(), other], [reports], { x: "batches", range: [0, 25], buckets: 100 });
    expect(next?.[0]?.x).toEqual([10, 20]);
    expect(next?.[1]).toBe(other);
  });
});

describe("buckets", () => {
  it("lose no extreme and no value, whatever the values are", () => {
    const points = fc.array(fc.double({ min: -1e9, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(points, fc.integer({ min: 1, max: 40 }), (last, buckets) => {
        const whole = series({ x: last.map((_, i) => i), last, time: last, count: last.length });
        const once = rebucketed(whole, buckets);
        for (const made of [once, rebucketed(once, Math.max(1, buckets - 1))]) {
          expect(made.x.length).toBeLessThanOrEqual(buckets);
          expect(Math.min(...made.min)).toBe(Math.min(...last));
          expect(Math.max(...made.max)).toBe(Math.max(...last));
          expect(made.n.reduce((sum, n) => sum + n, 0)).toBe(last.length);
          expect(made.last.at(-1)).toBe(last.at(-1));
        }
      }),
    );
  });

  it("join when a live series outgrows them", () => {
    let current = series({ x: [0], last: [0], time: [0], count: 1 });
    for (let i = 1; i <= 500; i++)
      current = appended(current, [{ x: i, value: i === 250 ? 99 : 1, time: i }], 20) ?? current;
    expect(current.x.length).toBeLessThanOrEqual(41);
    expect(current.count).toBe(501);
    expect(Math.max(...current.max)).toBe(99);
  });

  it("shift to the first value", () => {
    expect(sinceFirst(series({ nonFinite: [{ x: 25, value: "NaN" }] }))).toMatchObject({ x: [0, 10], nonFinite: [{ x: 15, value: "NaN" }] });
  });
});

describe("the public route", () => {
  const data = [
    { batches: 2, values: { loss: "Infinity", step: 7 }, time: "1970-01-01T00:00:02Z", epoch: 0.2 },
    { batches: 1, values: { loss: 3, step: 5 }, time: "1970-01-01T00:00:01Z", epoch: 0.1 },
    { batches: 3, values: { loss: 1 }, time: "1970-01-01T00:00:03Z" },
  ];
  const groups = [{ group: "validation", data }];

  it("gives the same series as the charts' own", () => {
    const made = seriesOf(1, { group: "validation", name: "loss" }, "batches", groups);
    expect(made).toMatchObject({ x: [1, 3], last: [3, 1], nonFinite: [{ x: 2, value: "Infinity" }], nonFiniteCount: 1, count: 2 });
  });

  it("counts what lacks the axis", () => {
    expect(seriesOf(1, { group: "validation", name: "loss" }, "metric:step", groups)).toMatchObject({ x: [5], withoutX: 1 });
    expect(seriesOf(1, { group: "validation", name: "loss" }, "epochs", groups)).toMatchObject({ x: [0.1], withoutX: 1 });
  });

  it("serves where the charts' own is missing, which is asked once", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", (url: string) => {
      asked.push(url);
      return Promise.resolve(new Response('{"message":"api not found"}', { status: 404 }));
    });
    const data = { trials: [{ trial: { id: 1 }, metrics: groups }] };
    vi.spyOn(api, "GET").mockResolvedValue({ data, response: new Response() } as never);
    const query = { trialIds: [1], metrics: [{ group: "validation", name: "loss" }], x: "batches", buckets: 100 } as const;
    const [first] = await readSeries(query);
    await readSeries(query);
    expect(first?.last).toEqual([3, 1]);
    expect(asked.filter((url) => url.includes("/api/ui/"))).toHaveLength(1);
  });
});
