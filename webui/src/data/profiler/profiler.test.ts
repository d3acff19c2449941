import { describe, expect, it } from "vitest";

import { absenceOf, chartsOf, lineNames, placesOf, shortNames, unitOf } from "./charts";
import { drawn, seriesOfBatches, withinRange, type SampleBatch } from "./samples";
import { columnsFor, stripOf } from "./strip";

const at = (second: number) => new Date(second * 1000).toISOString();

function batch(name: string, values: unknown[], change: SampleBatch["labels"] = {}, from = 0): SampleBatch {
  return {
    values,
    timestamps: values.map((_, i) => at(from + i)),
    labels: { trialId: 1, name, agentId: "a1", metricType: "PROFILER_METRIC_TYPE_SYSTEM", ...change },
  };
}

describe("samples of the profiler", () => {
  it("join by name, agent and device, ascending in time", () => {
    const series = seriesOfBatches([
      batch("gpu_util", [30, 40], { gpuUuid: "GPU-1" }, 10),
      batch("gpu_util", [1, 2], { gpuUuid: "GPU-2" }),
      batch("gpu_util", [10, 20], { gpuUuid: "GPU-1" }),
    ]);
    expect(series.map(({ device, x, last }) => ({ device, x, last }))).toEqual([
      { device: "GPU-1", x: [0, 1, 10, 11], last: [10, 20, 30, 40] },
      { device: "GPU-2", x: [0, 1], last: [1, 2] },
    ]);
  });

  it("keep values that are not finite apart, and drop series without values", () => {
    const series = seriesOfBatches([batch("x", [1, "NaN", 3]), batch("empty", [])]);
    expect(series).toHaveLength(1);
    expect(series[0]).toMatchObject({ last: [1, 3], nonFinite: [{ x: 1, value: "NaN" }], nonFiniteCount: 1 });
  });

  it("inside a range come with their neighbours", () => {
    const [series] = seriesOfBatches([batch("x", [0, 1, 2, 3, 4, 5])]);
    if (!series) throw new Error("no series");
    expect(withinRange(series, [2, 3]).x).toEqual([1, 2, 3, 4]);
    expect(withinRange(series, [2.2, 2.4]).x).toEqual([2, 3]);
    expect(withinRange(series, [9, 12]).x).toEqual([]);
    expect(withinRange(series, [-5, 99]).x).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe("a drawn series", () => {
  it("is moved to the axis, scaled, and keeps its spikes in few points", () => {
    const values = Array.from({ length: 5000 }, (_, i) => (i === 1234 ? 1000 : 10));
    const [series] = seriesOfBatches([batch("x", values, {}, 100)]);
    if (!series) throw new Error("no series");
    const line = drawn(series, { range: undefined, origin: 100, scale: 10, buckets: 200 });
    expect(line.x.length).toBeLessThanOrEqual(400);
    expect(line.x.at(-1)).toBe(4999);
    expect(Math.max(...line.max)).toBe(100);
    expect(line.agent).toBe("a1");
    const part = drawn(series, { range: [1230, 1240], origin: 100, scale: 1, buckets: 200 });
    expect(part.bucketed).toBe(false);
    expect(part.x[0]).toBe(1229);
  });
});

describe("charts of the profiler", () => {
  const series = seriesOfBatches([
    batch("gpu_util", [50], { gpuUuid: "GPU-1" }),
    batch("gpu_util", [60], { gpuUuid: "GPU-1", agentId: "a2" }),
    batch("memory_free", [3 * 1024 ** 3]),
    batch("train_step", [0.2], { metricType: "PROFILER_METRIC_TYPE_TIMING" }),
    batch("fan_speed", [7]),
  ]);

  it("are one a name, in sections, with units that fit the values", () => {
    expect(chartsOf(series).map(({ id, title, scale }) => [id, title, scale])).toEqual([
      ["Other.fan_speed", "fan_speed", 1],
      ["GPU.gpu_util", "GPU utilization, %", 1],
      ["Memory.memory_free", "Free memory, GiB", 1024 ** 3],
      ["Timing.train_step", "train_step, s", 1],
    ]);
  });

  it("have a line an agent and device, in the same colour everywhere", () => {
    const name = lineNames(series.filter((each) => each.name === "gpu_util"));
    expect(series.filter((each) => each.name === "gpu_util").map(name)).toEqual(["a1 · GPU-1", "a2 · GPU-1"]);
    const place = placesOf(series);
    expect(new Set(series.map(place)).size).toBe(3);
  });

  it("shorten ids as far as they stay different", () => {
    expect([...shortNames(["GPU-11111111-aaaa-bbbb", "GPU-11111111-aaaa-cccc"]).values()]).toEqual([
      "GPU-11111111-aaaa-b…",
      "GPU-11111111-aaaa-c…",
    ]);
    expect([...shortNames(["/determined_shared_fs", "GPU-0"]).values()]).toEqual(["/determined_shared_fs", "GPU-0"]);
  });

  it("show bytes in the largest unit below 1024", () => {
    expect(unitOf("bytes", 1023)).toEqual({ scale: 1, suffix: "B" });
    expect(unitOf("bytesPerSecond", 5 * 1024 ** 2)).toEqual({ scale: 1024 ** 2, suffix: "MiB/s" });
  });
});

describe("a strip of devices", () => {
  it("has the mean of each time, and no cell where nothing was reported", () => {
    const series = seriesOfBatches([
      batch("gpu_util", [0, 10, 20, 30], { gpuUuid: "GPU-1" }),
      batch("gpu_util", [100], { gpuUuid: "GPU-2" }, 3),
    ]);
    const { cells, from, to } = stripOf(series, 2);
    expect([from, to]).toEqual([0, 3]);
    expect(cells).toEqual([
      { row: 0, column: 0, mean: 5, count: 2 },
      { row: 0, column: 1, mean: 25, count: 2 },
      { row: 1, column: 1, mean: 100, count: 1 },
    ]);
    expect([columnsFor(series, 600), columnsFor(series, 12), columnsFor([], 600)]).toEqual([4, 2, 1]);
  });
});

describe("a run without samples", () => {
  it("says whether profiling is off, or has nothing yet", () => {
    expect(absenceOf({}, false)).toBe("off");
    expect(absenceOf({ profiling: { enabled: false } }, true)).toBe("off");
    expect(absenceOf({ profiling: { enabled: true } }, false)).toBe("waiting");
    expect(absenceOf({ profiling: { enabled: true } }, true)).toBe("none");
  });
});
