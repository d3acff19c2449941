import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { parseAnsi, stripAnsi } from "./ansi";
import { LogFeed, PAGE } from "./feed";
import { rowOf, Rows } from "./rows";
import { errorBelow, errorBeyond, Hits, makeMatcher } from "./search";
import { NO_FILTER, type LogFilter, type LogLine, type LogSource } from "./types";

function line(id: number, text = `line ${id}`, change: Partial<LogLine> = {}): LogLine {
  return { id: String(id), time: undefined, level: "INFO", rank: undefined, text, ...change };
}

describe("terminal text", () => {
  it("becomes spans with the theme's colours", () => {
    expect(parseAnsi("a\u001b[1;31mred\u001b[0m b")).toEqual([
      { text: "a" },
      { text: "red", bold: true, ink: "red" },
      { text: " b" },
    ]);
    expect(parseAnsi("\u001b[38;5;46mg\u001b[39mx")).toEqual([{ text: "g", ink: "green" }, { text: "x" }]);
    expect(parseAnsi("\u001b[38;2;20;40;250mb")).toEqual([{ text: "b", ink: "blue" }]);
  });

  it("loses titles, links, cursor moves and control characters", () => {
    const text = "\u001b]0;title\u0007a\u001b[2Kb\u001b]8;;http://x\u001b\\c\u0000d\u001b[1A";
    expect(stripAnsi(text)).toBe("abcd");
    expect(parseAnsi(text).map((span) => span.text).join("")).toBe("abcd");
  });

  it("never loses other text, whatever comes", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const joined = parseAnsi(text).map((span) => span.text).join("");
        expect(joined).toBe(stripAnsi(text));
      }),
    );
  });
});

describe("rows", () => {
  it("show the last state of a progress bar that rewrites its line", () => {
    const row = rowOf(line(1, "10%|#  |\r50%|## |\r100%|###|\n"));
    expect(row.plain).toBe("100%|###|");
    expect(row.rewrites).toBe(2);
  });

  it("fold the states of one bar, and no other lines", () => {
    const rows = new Rows();
    const bar = (id: number, percent: number) => line(id, `Epoch 1:  ${percent}%|###   | ${percent}/100 [00:01, 5.0it/s]`);
    rows.append([bar(1, 10), bar(2, 20)]);
    rows.append([bar(3, 30), line(4, "done 30% of it"), line(5, "done 40% of it")]);
    expect(rows.rows.map((row) => row.line.id)).toEqual(["3", "4", "5"]);
    expect(rows.rows[0]?.folded.map((each) => each.id)).toEqual(["1", "2"]);
    expect(rows.indexOf("2")).toBe(0);
    expect(rows.height).toBe(3);
  });

  it("keep bars of two ranks apart", () => {
    const rows = new Rows();
    rows.append([line(1, "x 1%|#|", { rank: 0 }), line(2, "x 1%|#|", { rank: 1 })]);
    expect(rows.rows).toHaveLength(2);
  });

  it("know their places when lines wrap", () => {
    const rows = new Rows();
    rows.rebuild([line(1, "x".repeat(25)), line(2, ""), line(3, "世界世界世界")], { filter: NO_FILTER, columns: 10, fold: true });
    expect(rows.ends).toEqual([3, 4, 6]);
    expect([0, 2, 3, 4, 5].map((height) => rows.at(height))).toEqual([0, 0, 1, 2, 2]);
    expect(rows.top(2)).toBe(4);
  });

  it("have the levels and ranks of the filter", () => {
    const rows = new Rows();
    const lines = [
      line(1, "a", { level: "ERROR", rank: 0 }),
      line(2, "b", { level: "INFO", rank: 0 }),
      line(3, "c", { level: undefined, rank: 1 }),
    ];
    rows.rebuild(lines, { filter: { least: "WARNING", ranks: [] }, columns: 0, fold: true });
    expect(rows.rows.map((row) => row.line.id)).toEqual(["1"]);
    rows.rebuild(lines, { filter: { least: undefined, ranks: [1] }, columns: 0, fold: true });
    expect(rows.rows.map((row) => row.line.id)).toEqual(["3"]);
  });
});

describe("searches", () => {
  const rows = new Rows();
  rows.append([line(1, "loss=0.5"), line(2, "Loss (nan)"), line(3, "x", { level: "ERROR" }), line(4, "loss=0.1")]);

  it("take a text literally, and ignore case without capitals", () => {
    expect(makeMatcher({ text: "loss (", regex: false }).matcher?.test("a Loss (nan)")).toBe(true);
    expect(makeMatcher({ text: "Loss", regex: false }).matcher?.test("loss")).toBe(false);
    expect(makeMatcher({ text: "a-b/c", regex: false }).matcher?.ranges("xa-b/c")).toEqual([[1, 6]]);
  });

  it("say why a pattern is wrong", () => {
    expect(makeMatcher({ text: "(", regex: true }).error).toMatch(/\(/);
    expect(makeMatcher({ text: "(", regex: false }).error).toBeUndefined();
  });

  it("go from hit to hit around the ends, and grow with the log", () => {
    const hits = new Hits();
    hits.restart(makeMatcher({ text: "loss", regex: false }).matcher, rows.rows);
    expect(hits.rows).toEqual([0, 1, 3]);
    expect(hits.next(1, 1)).toBe(3);
    expect(hits.next(3, 1)).toBe(0);
    expect(hits.next(0, -1)).toBe(3);
    rows.append([line(5, "loss again")]);
    hits.extend(rows.rows);
    expect(hits.rows).toEqual([0, 1, 3, 4]);
  });

  it("find the next error among the loaded rows", () => {
    expect(errorBelow(rows.rows, 0)).toBe(2);
    expect(errorBelow(rows.rows, 2)).toBeUndefined();
    expect(errorBelow([], 0)).toBeUndefined();
  });

  it("find an error that is not loaded: the next one, else the first of the log", async () => {
    const errors = sourceOf(6);
    const asked: unknown[] = [];
    const source = { ...sourceOf(9), withFilter: (filter: LogFilter) => (asked.push(filter), errors) };
    const loaded = { lines: [line(3), line(4)], hasNewer: true };
    expect(await errorBeyond(source, { least: undefined, ranks: [1] }, loaded)).toEqual(line(5));
    expect(await errorBeyond(source, NO_FILTER, { ...loaded, hasNewer: false })).toEqual(line(1));
    expect(await errorBeyond(source, NO_FILTER, { lines: [line(6)], hasNewer: true })).toEqual(line(1));
    expect(asked[0]).toEqual({ least: "ERROR", ranks: [1] });
    expect(await errorBeyond({ ...source, withFilter: () => sourceOf(0) }, NO_FILTER, loaded)).toBeUndefined();
  });
});

/** A log of the lines 1 to `count`. */
function sourceOf(count: number): LogSource & { push(lines: LogLine[]): void } {
  const all = Array.from({ length: count }, (_, i) => line(i + 1));
  let push: (lines: LogLine[]) => void = () => undefined;
  return {
    async loadBefore(before, size) {
      const end = before ? Number(before.id) - 1 : all.length;
      return { lines: all.slice(Math.max(0, end - size), end), end: end - size <= 0 };
    },
    async loadAfter(after, size) {
      const start = after ? Number(after.id) : 0;
      return { lines: all.slice(start, start + size), end: start + size >= all.length };
    },
    follow(_after, onLines) {
      push = onLines;
      return () => (push = () => undefined);
    },
    push: (lines) => push(lines),
  };
}

describe("a feed", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("opens at the end and pages to the start without a line twice", async () => {
    const feed = new LogFeed(sourceOf(2 * PAGE + 5), () => undefined);
    await feed.openAtEnd();
    expect(feed.state.lines).toHaveLength(PAGE);
    await feed.older();
    await feed.older();
    await feed.older();
    expect(feed.state.lines.map((each) => Number(each.id))).toEqual(Array.from({ length: 2 * PAGE + 5 }, (_, i) => i + 1));
    expect(feed.state.hasOlder).toBe(false);
  });

  it("drops nothing of 60,000 followed lines, and shows each batch within 50 ms", async () => {
    const source = sourceOf(10);
    const batches: number[] = [];
    const feed = new LogFeed(source, (change, added) => {
      if (change === "append") batches.push(added.length);
    });
    await feed.openAtEnd();
    for (let i = 0; i < 600; i++) {
      source.push(Array.from({ length: 100 }, (_, j) => line(11 + i * 100 + j)));
      vi.advanceTimersByTime(50);
      expect(feed.state.lines).toHaveLength(10 + (i + 1) * 100);
    }
    expect(batches.every((size) => size <= 100)).toBe(true);
  });

  it("trims the oldest lines of a long log, which can be loaded again", async () => {
    const source = sourceOf(50);
    const feed = new LogFeed(source, () => undefined, 100);
    await feed.openAtEnd();
    source.push(Array.from({ length: 80 }, (_, i) => line(51 + i)));
    vi.advanceTimersByTime(60);
    expect(feed.state.lines).toHaveLength(90);
    expect(feed.state.lines[0]?.id).toBe("41");
    expect(feed.state.hasOlder).toBe(true);
    await feed.older();
    expect(feed.state.lines[0]?.id).toBe("1");
  });

  it("opens around a line and reaches the end, where it follows", async () => {
    const source = sourceOf(3 * PAGE);
    const feed = new LogFeed(source, () => undefined);
    await feed.openAround(line(1500));
    expect(feed.state.lines[0]?.id).toBe("500");
    expect(feed.state.hasNewer).toBe(true);
    await feed.newer();
    expect(feed.state.hasNewer).toBe(false);
    source.push([line(3 * PAGE + 1)]);
    vi.advanceTimersByTime(60);
    expect(feed.state.lines.at(-1)?.id).toBe(String(3 * PAGE + 1));
  });

  it("keeps its lines when the master refuses a page", async () => {
    const source = sourceOf(5);
    const feed = new LogFeed(source, () => undefined);
    await feed.openAtStart();
    source.loadBefore = () => Promise.reject(new Error("away"));
    feed.state = { ...feed.state, hasOlder: true };
    await feed.older();
    expect(feed.state.lines).toHaveLength(5);
    expect(feed.state.error).toBeInstanceOf(Error);
  });
});
