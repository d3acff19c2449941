import { describe, expect, it, vi } from "vitest";

import { fileName } from "./export/download";
import { dataTable, toCsv, toJson } from "./export/table";
import { makeScale } from "./math/scales";
import { spokenPoint, summaryOf } from "./math/summary";
import { traceOf, withGaps, type Trace } from "./math/trace";
import { DASHES, hueOf, stylesOf } from "./palette";
import { drawScene } from "./plot/draw";
import { edgeMarks, extremeColumns, extremesPath, linePath, toY, type Frame } from "./plot/paths";
import { Pieces, SvgPen } from "./plot/pen";
import { ChartSync } from "./sync";
import { hitOf, moved } from "./useChartKeys";

const FRAME: Frame = { left: 0, top: 0, width: 100, height: 100, x: [0, 100], y: [0, 10] };

function trace(id: string, x: number[], y: number[]): Trace {
  const series = { id, label: id, x, y };
  return traceOf(series, withGaps(series), undefined, makeScale("linear"), { colour: "#123456", dash: [], width: 1 });
}

function points() {
  const visited: [string, number, number][] = [];
  return {
    visited,
    moveTo: (x: number, y: number) => visited.push(["M", x, y]),
    lineTo: (x: number, y: number) => visited.push(["L", x, y]),
  };
}

describe("colours", () => {
  it("follow from the id alone, and differ for eight neighbouring ids", () => {
    expect(new Set(Array.from({ length: 8 }, (_, i) => hueOf(1200 + i))).size).toBe(8);
    expect(hueOf("a-run")).toBe(hueOf("a-run"));
    expect(hueOf(17)).toBe(hueOf("17"));
  });

  it("past eight series the dashes differ", () => {
    const styles = stylesOf(Array.from({ length: 8 * DASHES.length }, (_, i) => i));
    expect(new Set(styles.map(({ hue, dash }) => `${hue} ${dash}`)).size).toBe(48);
  });

  it("two metrics of a run share the hue", () => {
    const [a, b] = stylesOf([5, 5]);
    expect(a?.hue).toBe(b?.hue);
    expect(a?.dash).not.toBe(b?.dash);
  });
});

describe("paths", () => {
  it("lose no spike among many points of one pixel", () => {
    const y = Float64Array.from({ length: 10_000 }, (_, i) => (i === 5003 ? 9 : 1));
    const x = Array.from(y, (_, i) => i / 100);
    const sink = points();
    linePath(sink, FRAME, x, y);
    expect(sink.visited.length).toBeLessThan(500);
    expect(Math.min(...sink.visited.map(([, , py]) => py))).toBeCloseTo(10);
  });

  it("break at gaps and name points that stand alone", () => {
    const sink = points();
    const alone = linePath(sink, FRAME, [0, 10, 20, 30, 40], [1, NaN, 2, NaN, 3]);
    expect(alone).toEqual([0, 2, 4]);
    expect(sink.visited.map(([kind]) => kind)).toEqual(["M", "M", "M"]);
  });

  it("through buckets visit the extremes of each", () => {
    const sink = points();
    const low = Float64Array.of(5, 1, 5);
    extremesPath(sink, FRAME, { ...trace("a", [0, 50, 90], [5, 6, 5]), low, high: Float64Array.of(5, 9, 5) });
    const heights = sink.visited.map(([, , y]) => y);
    expect([Math.min(...heights), Math.max(...heights)]).toEqual([toY(FRAME, 9), toY(FRAME, 1)]);
    expect(sink.visited.filter(([kind]) => kind === "M")).toHaveLength(1);
  });

  it("through narrow buckets are columns without a gap between them, and no spike is lost", () => {
    const narrow = { ...FRAME, x: [0, 300] as const };
    const low = Float64Array.of(1, 1, 7, 7);
    const high = Float64Array.of(2, 9, 8, 8);
    const flat = extremeColumns(narrow, { ...trace("a", [0, 9, 18, 27], [2, 9, 7, 8]), low, high }) ?? [];
    const columns = Array.from({ length: flat.length / 4 }, (_, i) => flat.slice(4 * i, 4 * i + 4));
    expect(columns).toHaveLength(4);
    expect(columns[1]?.[1]).toBeCloseTo(toY(FRAME, 9));
    columns.slice(1).forEach(([left = 0, top = 0, , height = 0], i) => {
      const [from = 0, above = 0, width = 0, tall = 0] = columns[i] ?? [];
      expect(from + width).toBeCloseTo(left);
      expect(Math.max(top, above)).toBeLessThanOrEqual(Math.min(top + height, above + tall) + 1e-9);
    });
    expect(extremeColumns(FRAME, { ...trace("a", [0, 50], [1, 2]), low, high })).toBeUndefined();
  });

  it("mark values outside a clipped range and values that are not finite", () => {
    const odd = { ...trace("a", [0, 50, 90], [5, 50, -5]), nonFinite: [{ x: 20, value: "NaN" }] };
    expect(edgeMarks(FRAME, odd, true).map(({ kind }) => kind)).toEqual(["nan", "up", "down"]);
    expect(edgeMarks(FRAME, odd, false).map(({ kind }) => kind)).toEqual(["nan"]);
  });

  it("stroke long lines in pieces, each from the end of the one before", () => {
    type Call = ["M" | "L", number, number];
    class Recorded {
      readonly calls: Call[] = [];
      moveTo = (x: number, y: number) => this.calls.push(["M", x, y]);
      lineTo = (x: number, y: number) => this.calls.push(["L", x, y]);
    }
    vi.stubGlobal("Path2D", Recorded);
    const strokes: Call[][] = [];
    const pieces = new Pieces({ stroke: (path?: unknown) => strokes.push((path as Recorded).calls) }, 4);
    pieces.moveTo(0, 0);
    for (let x = 1; x <= 6; x++) pieces.lineTo(x, 0);
    pieces.moveTo(8, 1);
    pieces.lineTo(9, 1);
    pieces.end();
    pieces.end();
    vi.unstubAllGlobals();
    const ends = strokes.map((calls) => calls.map(([kind, x]) => `${kind}${x}`).join(" "));
    expect(ends).toEqual(["M0 L1 L2 L3 L4", "M4 L5 L6 M8 L9"]);
  });

  it("mark the best checkpoint whole where it lies at an edge, and not beyond the range", () => {
    const ink = { theme: "light" as const, text: "#000", hint: "#000", line: "#000", strong: "#000", muted: "#000", ground: "#fff", accent: "#000", family: "sans" };
    const diamonds = (x: number) => {
      const pen = new SvgPen(100, 100, "sans");
      const marks = [{ kind: "best" as const, x, label: "best checkpoint", seriesId: "a" }];
      drawScene(pen, FRAME, { traces: [trace("a", [0, 50, 100], [5, 5, 5])], marks, bands: false, clipped: false }, ink);
      const svg = new DOMParser().parseFromString(pen.toString(), "image/svg+xml");
      return [...svg.querySelectorAll("path[fill='#fff']")].map((path) => path.closest("[clip-path]") === null);
    };
    expect(diamonds(100)).toEqual([true]);
    expect(diamonds(50)).toEqual([true]);
    expect(diamonds(150)).toEqual([]);
  });

  it("are text without markup in SVG", () => {
    const pen = new SvgPen(10, 10, "sans");
    pen.text(0, 0, '<script>"&', { colour: "#000000" });
    expect(pen.toString()).toContain("&lt;script&gt;&quot;&amp;");
    expect(new DOMParser().parseFromString(pen.toString(), "image/svg+xml").querySelector("script")).toBeNull();
  });
});

describe("files", () => {
  const traces = [trace("a", [0, 2], [1, 2]), trace('b,"', [0, 1], [5, NaN])];

  it("join the lines by x", () => {
    expect(dataTable(traces, "batches", [0, 9]).rows).toEqual([
      [0, 1, 5],
      [1, undefined, NaN],
      [2, 2, undefined],
    ]);
    expect(dataTable(traces, "batches", [0, 1], "smoothed (EMA 0.6)").columns[1]).toBe("a, smoothed (EMA 0.6)");
    expect(toCsv(dataTable(traces, "batches", [0, 1]))).toBe('Batches,a,"b,"""\r\n0,1,5\r\n1,,NaN\r\n');
  });

  it("run no formula in a spreadsheet", () => {
    expect(toCsv({ columns: ["=1+1"], rows: [] })).toBe("'=1+1\r\n");
  });

  it("are valid JSON with null for gaps", () => {
    const read = JSON.parse(toJson("t", traces, "batches", { kind: "none", amount: 0 })) as { series: { y: unknown[] }[] };
    expect(read.series[1]?.y).toEqual([5, null]);
  });

  it("have names that file systems take", () => {
    expect(fileName("a/b:c.csv")).toBe("a_b_c.csv");
  });
});

describe("words", () => {
  it("sum up the lines", () => {
    expect(summaryOf("loss", [trace("trial 1", [0, 1], [2, 1])], "batches")).toBe(
      "loss over batches, 1 line. trial 1: from 2 to 1, lowest 1, highest 2.",
    );
    expect(summaryOf("loss", [], "batches")).toBe("loss: no data.");
  });

  it("say the point of the keyboard's cursor", () => {
    const hit = hitOf([trace("trial 1", [0, 100], [2, 1])], { traceId: "trial 1", index: 1 });
    expect(hit && spokenPoint(hit, "batches")).toBe("trial 1, batch 100: 1");
  });
});

describe("the keyboard's cursor", () => {
  const traces = [trace("low", [0, 10, 20], [1, 1, 1]), trace("high", [0, 10, 20], [5, 5, 5])];

  it("moves by point and by line", () => {
    const first = moved("ArrowRight", traces, undefined, [0, 20]);
    expect(first).toEqual({ traceId: "low", index: 0 });
    expect(moved("ArrowRight", traces, first, [0, 20])?.index).toBe(1);
    expect(moved("ArrowUp", traces, first, [0, 20])).toEqual({ traceId: "high", index: 0 });
    expect(moved("ArrowDown", traces, first, [0, 20])?.traceId).toBe("low");
    expect(moved("End", traces, first, [0, 20])?.index).toBe(2);
    expect(moved("x", traces, first, [0, 20])).toBeUndefined();
  });
});

describe("the shared zoom", () => {
  it("is one an axis, and reports changes that the address did not make", () => {
    const sync = new ChartSync();
    const seen: unknown[] = [];
    sync.onRange = (range, axis) => seen.push([range, axis]);
    sync.setRange("batches", [1, 2]);
    sync.setRange("batches", [1, 2]);
    sync.setRange("batches", [3, 4], true);
    sync.setRange("batches", undefined);
    expect(sync.range("time")).toBeUndefined();
    expect(seen).toEqual([[[1, 2], "batches"], [undefined, "batches"]]);
  });
});
