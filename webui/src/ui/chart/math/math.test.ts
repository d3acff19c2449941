import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { ChartSeries } from "../types";
import { hitsAt, indicesIn, MAX_ROWS, nearestIndex, tooltipRows } from "./nearest";
import { panned, xExtent, yRangeOf, zoomed } from "./range";
import { makeScale, symlogThreshold } from "./scales";
import { ema, gaussian, runningMean } from "./smooth";
import { distinctLabels, xLabels, xTicks, yTicks } from "./ticks";
import { hidesAll, traceOf, withGaps, type Trace } from "./trace";

const LOOK = { colour: "#000000", dash: [], width: 1 };
const linear = makeScale("linear");

function trace(y: number[], change: Partial<ChartSeries> = {}, scale = linear): Trace {
  const series = { id: "a", label: "a", x: y.map((_, i) => i), y, ...change };
  return traceOf(series, withGaps(series), undefined, scale, LOOK);
}

describe("scales", () => {
  it("come back to the value", () => {
    for (const value of [1e-9, 0.5, 3, 1e12]) {
      expect(makeScale("log").from(makeScale("log").to(value))).toBeCloseTo(value, 9);
      const symlog = makeScale("symlog", 0.01);
      expect(symlog.from(symlog.to(-value)) / -value).toBeCloseTo(1, 9);
    }
  });

  it("have no place for values that a logarithm lacks", () => {
    expect(makeScale("log").to(0)).toBeNaN();
    expect(makeScale("log").to(-1)).toBeNaN();
  });

  it("choose the linear part of symlog below the data", () => {
    expect(symlogThreshold([[0, 0.02, 5, -700]])).toBeLessThanOrEqual(0.1);
    expect(symlogThreshold([[0, NaN]])).toBe(1);
  });
});

describe("ticks", () => {
  it("have labels that differ and are close to their values", () => {
    const ranges = fc.tuple(
      fc.double({ min: -1e12, max: 1e12, noNaN: true }),
      fc.double({ min: 1e-6, max: 1e12, noNaN: true }),
    );
    fc.assert(
      fc.property(ranges, ([low, width]) => {
        const ticks = yTicks([low, low + width], linear, 6);
        expect(new Set(distinctLabels(ticks)).size).toBe(ticks.length);
      }),
    );
  });

  it("have no place twice where their step is below the resolution of numbers", () => {
    const ticks = yTicks([-1073741824.0000007, -1073741823.9999997], linear, 6);
    expect(new Set(ticks).size).toBe(ticks.length);
  });

  it("keep digits where values differ late", () => {
    expect(distinctLabels([1.00001, 1.00002, 1.00003])).toEqual(["1.00001", "1.00002", "1.00003"]);
    expect(distinctLabels([0, 5000, 10000])).toEqual(["0", "5,000", "10,000"]);
    expect(distinctLabels([0, 2.5e8, 5e8])).toEqual(["0", "2.5e8", "5e8"]);
  });

  it("of a logarithmic axis are powers, with 2 and 5 in between where there is room", () => {
    const places = yTicks([-3, 3], makeScale("log"), 6).map((place) => 10 ** place);
    expect(places.map((value) => Math.round(Math.log10(value)))).toEqual([-3, -2, -1, 0, 1, 2, 3]);
    expect(yTicks([0, 1], makeScale("log"), 6)).toHaveLength(4);
  });

  it("of a logarithmic axis are at least two with room between them, at any range and height", () => {
    const log = makeScale("log");
    const values = (low: number, high: number, count: number) =>
      yTicks([Math.log10(low), Math.log10(high)], log, count).map((place) => Number((10 ** place).toPrecision(6)));
    expect(values(1.2, 9.5, 2)).toEqual([2, 5]);
    expect(values(0.03, 0.3, 5)).toEqual([0.05, 0.1, 0.2]);
    const ranges = fc.tuple(
      fc.double({ min: -12, max: 12, noNaN: true }),
      fc.double({ min: 1e-5, max: 20, noNaN: true }),
      fc.integer({ min: 2, max: 10 }),
    );
    fc.assert(
      fc.property(ranges, ([low, decades, count]) => {
        const places = yTicks([low, low + decades], log, count);
        expect(places.length).toBeGreaterThanOrEqual(2);
        expect(places.length).toBeLessThanOrEqual(2 * count);
        expect(new Set(distinctLabels(places.map(log.from))).size).toBe(places.length);
        places.forEach((place, i) => {
          expect(place).toBeGreaterThanOrEqual(low - 1e-9);
          expect(place).toBeLessThanOrEqual(low + decades + 1e-9);
          if (i > 0) expect(place - (places[i - 1] as number)).toBeGreaterThanOrEqual(decades / count / 2);
        });
      }),
    );
  });

  it("of a linear axis are at least two where it is small", () => {
    expect(yTicks([1.2, 1.9], linear, 2).length).toBeGreaterThanOrEqual(2);
  });

  it("of symlog keep apart", () => {
    const scale = makeScale("symlog", 1e298);
    const range = [scale.to(-1e308), scale.to(1e308)] as const;
    const places = yTicks(range, scale, 4);
    for (let i = 1; i < places.length; i++)
      expect((places[i] as number) - (places[i - 1] as number)).toBeGreaterThan((range[1] - range[0]) / 10);
  });

  it("of batches are whole, of time are at whole minutes with the day where it changes", () => {
    expect(xTicks([0, 3], "batches", 8)).toEqual([0, 1, 2, 3]);
    const start = Date.UTC(2026, 2, 4, 23, 50) / 1000;
    const ticks = xTicks([start, start + 1800], "time", 6);
    expect(ticks.every((tick) => tick % 300 === 0)).toBe(true);
    expect(new Set(xLabels(ticks, "time")).size).toBe(ticks.length);
    expect(xLabels([0, 3600, 5400], "relative")).toEqual(["0s", "1h", "1h 30m"]);
  });
});

describe("gaps", () => {
  it("break the line where a value is not finite", () => {
    const gapped = withGaps({
      id: "a",
      label: "a",
      x: [0, 10, 20],
      y: [1, 2, 3],
      min: [0, 1, 2],
      max: [2, 3, 4],
      nonFinite: [{ x: 12, value: "NaN" }],
      nonFiniteCount: 5,
    });
    expect(Array.from(gapped.x)).toEqual([0, 10, 12, 20]);
    expect(Array.from(gapped.y)).toEqual([1, 2, NaN, 3]);
    expect(Array.from(gapped.max ?? [])).toEqual([2, 3, NaN, 4]);
    expect(gapped.nonFiniteCount).toBe(5);
  });

  it("count infinite values that stand in the line itself", () => {
    const made = trace([1, Infinity, 3]);
    expect(made.nonFinite).toEqual([{ x: 1, value: "Infinity" }]);
    expect(made.y[1]).toBeNaN();
  });

  it("count what a logarithmic scale hides", () => {
    expect(trace([1, 0, -2], {}, makeScale("log")).hidden).toBe(2);
  });

  it("know when a logarithmic scale hides all values", () => {
    const log = makeScale("log");
    expect(hidesAll([trace([0, -2], {}, log), trace([-1, NaN], {}, log)])).toBe(true);
    expect(hidesAll([trace([0, -2], {}, log), trace([1], {}, log)])).toBe(false);
    expect(hidesAll([trace([NaN], {}, log)])).toBe(false);
    expect(hidesAll([trace([0, -2])])).toBe(false);
    expect(hidesAll([])).toBe(false);
  });
});

describe("ranges", () => {
  const settings = { yRange: "auto", yMin: undefined, yMax: undefined, bands: true } as const;

  it("include bands, or clip outliers", () => {
    const spike = trace([...Array.from({ length: 100 }, () => 1), 2], { max: [...Array(100).fill(1), 900], min: [] });
    expect(yRangeOf([spike], [0, 200], linear, settings)[1]).toBeGreaterThan(900);
    const outlier = trace([...Array.from({ length: 100 }, (_, i) => i / 100), 1e6]);
    expect(yRangeOf([outlier], [0, 200], linear, { ...settings, yRange: "clip" })[1]).toBeLessThan(2);
  });

  it("start at zero, keep manual ends, and cope with extremes and constants", () => {
    expect(yRangeOf([trace([5, 9])], [0, 9], linear, { ...settings, yRange: "zero" })[0]).toBe(0);
    expect(yRangeOf([trace([5, 9])], [0, 9], linear, { ...settings, yRange: "manual", yMin: 4, yMax: 6 })).toEqual([4, 6]);
    const [low, high] = yRangeOf([trace([-1.7e308, 1.7e308])], [0, 9], linear, settings);
    expect(Number.isFinite(high - low)).toBe(true);
    const [from, to] = yRangeOf([trace([3, 3])], [0, 9], linear, settings);
    expect(from).toBeLessThan(3);
    expect(to).toBeGreaterThan(3);
    expect(yRangeOf([], [0, 9], linear, settings)).toEqual([0, 1]);
  });

  it("zoom and pan inside the limits", () => {
    expect(zoomed([2, 4], [0, 10], 0.5, 3)).toEqual([2.5, 3.5]);
    expect(zoomed([2, 4], [0, 10], 100, 3)).toEqual([0, 10]);
    expect(panned([8, 9], [0, 10], 5)).toEqual([9, 10]);
    expect(xExtent([[1, 5], [0, 3], []])).toEqual([0, 5]);
    expect(xExtent([[]])).toBeUndefined();
  });
});

describe("smoothing", () => {
  it("never leaves the range of the values, and keeps gaps", () => {
    const values = fc.array(fc.oneof(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.constant(NaN)), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(values, (y) => {
        const x = y.map((_, i) => i * 3);
        const finite = y.filter(Number.isFinite);
        const low = Math.min(...finite) - 1e-3;
        const high = Math.max(...finite) + 1e-3;
        for (const out of [ema(x, y, 0.9), runningMean(y, 7), gaussian(y, 2)])
          out.forEach((value, i) => {
            expect(Number.isNaN(value)).toBe(Number.isNaN(y[i]));
            if (!Number.isNaN(value)) expect(value >= low && value <= high).toBe(true);
          });
      }),
    );
  });

  it("weighs by distance on x: after a pause the past counts less", () => {
    const dense = ema([0, 1, 2, 3], [0, 0, 0, 1], 0.8)[3] as number;
    const late = ema([0, 1, 2, 30], [0, 0, 0, 1], 0.8)[3] as number;
    expect(late).toBeGreaterThan(dense);
    expect(ema([0, 1], [4, 8], 0)[1]).toBe(8);
  });

  it("takes means of the points around", () => {
    expect(Array.from(runningMean([1, 2, 3, 4, 5], 3))).toEqual([1.5, 2, 3, 4, 4.5]);
    expect(Array.from(gaussian([2, 2, 2], 1))).toEqual([2, 2, 2]);
  });
});

describe("the cursor", () => {
  it("finds the nearest point", () => {
    expect(nearestIndex([0, 10, 20], 14)).toBe(1);
    expect(nearestIndex([0, 10, 20], 16)).toBe(2);
    expect(nearestIndex([], 1)).toBe(-1);
    expect(indicesIn([0, 1, 2, 3, 4, 5], [2, 3])).toEqual([1, 4]);
    expect(indicesIn([0, 1, 2], [-5, 50])).toEqual([0, 2]);
  });

  it("leaves out traces that end before it", () => {
    const short = { ...trace([1, 2, 3]), id: "short" };
    const long = { ...trace(Array.from({ length: 50 }, (_, i) => i)), id: "long" };
    expect(hitsAt([short, long], 30, 2).map((hit) => hit.trace.id)).toEqual(["long"]);
    expect(hitsAt([short, long], 3, 2)).toHaveLength(2);
  });

  it("lists the values nearest to the pointer, sorted, with the number of the others", () => {
    const traces = Array.from({ length: 20 }, (_, i) => ({ ...trace([i, i]), id: String(i) }));
    const { rows, more, nearest } = tooltipRows(hitsAt(traces, 0, 1), 19);
    expect(rows).toHaveLength(MAX_ROWS);
    expect(rows.map((row) => row.value)).toEqual([19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8]);
    expect(more).toBe(8);
    expect(nearest?.value).toBe(19);
  });

  it("names a value that is not finite", () => {
    const odd = trace([1, 2], { x: [0, 10], nonFinite: [{ x: 5, value: "NaN" }] });
    expect(hitsAt([odd], 5, 1)[0]?.nonFinite).toBe("NaN");
  });
});
