import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { live } from "@/data/live";

import { compareIds, filterParams, levelOf } from "./lines";
import { masterLogs } from "./masterLogs";
import { streamJson } from "./ndjson";
import { taskLogs, trialLogs } from "./taskLogs";
import type { LogLine } from "./types";

interface Stored {
  id: number;
  at: number;
}

/** A master that answers as the public route does: order by id, bounds by time. */
function serve(stored: Stored[]): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (input: string) => {
    asked.push(input);
    const query = new URL(input, "http://x").searchParams;
    const before = Date.parse(query.get("timestampBefore") ?? "2100-01-01");
    const after = Date.parse(query.get("timestampAfter") ?? "1970-01-01");
    let found = stored.filter(({ at }) => at <= before && at >= after);
    if (query.get("orderBy") === "ORDER_BY_DESC") found = [...found].reverse();
    const body = found
      .slice(0, Number(query.get("limit") ?? found.length))
      .map(({ id, at }) => JSON.stringify({ result: { id: String(id), timestamp: new Date(at).toISOString(), log: `${id}\n` } }))
      .join("\n");
    return Promise.resolve(new Response(body));
  });
  return asked;
}

const START = Date.UTC(2026, 0, 1);
/** Two ranks whose lines arrive in batches: neighbouring ids are up to a second apart in time. */
const MIXED = Array.from({ length: 500 }, (_, i) => ({ id: i + 1, at: START + i * 10 + (i % 20 < 10 ? 1000 : 0) }));

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("pages of a task's log", () => {
  it("reach the start without a gap or a repeated line, although times are out of order", async () => {
    serve(MIXED);
    const source = taskLogs("t");
    let all: LogLine[] = [];
    for (let line: LogLine | undefined, end = false; !end; line = all[0]) {
      const page = await source.loadBefore(line, 64);
      all = [...page.lines, ...all];
      end = page.end;
    }
    expect(all.map((each) => Number(each.id))).toEqual(MIXED.map(({ id }) => id));
  });

  it("reach the end likewise", async () => {
    serve(MIXED);
    const source = taskLogs("t");
    const all: LogLine[] = [];
    for (let end = false; !end; ) {
      const page = await source.loadAfter(all[all.length - 1], 64);
      all.push(...page.lines);
      end = page.end;
    }
    expect(all.map((each) => Number(each.id))).toEqual(MIXED.map(({ id }) => id));
  });

  it("ask for the levels and ranks of the filter", async () => {
    const asked = serve([]);
    await taskLogs("a/b").withFilter?.({ least: "ERROR", ranks: [0, 3] }).loadBefore(undefined, 10);
    expect(asked[0]).toContain("/api/v1/tasks/a%2Fb/logs?levels=LOG_LEVEL_ERROR&levels=LOG_LEVEL_CRITICAL&rankIds=0&rankIds=3");
  });
});

/** The browser of these tests knows no `Blob.text`. */
function textOf(file: Blob): Promise<unknown> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsText(file);
  });
}

describe("the file of a log", () => {
  it("has all lines as the master words them", async () => {
    const lines = [{ message: "[t] a\n", log: "a\n" }, { message: "[t] b\n", log: "b\n" }];
    vi.stubGlobal("fetch", () =>
      Promise.resolve(new Response(lines.map((each) => JSON.stringify({ result: { id: "1", ...each } })).join("\n"))),
    );
    const file = await taskLogs("t").file?.();
    expect(await textOf(file!)).toBe("[t] a\n[t] b\n");
  });
});

describe("following", () => {
  beforeEach(() => void vi.useFakeTimers());

  it("begins after the last line, begins again after a reset, and ends with the log", () => {
    const cursors: (string | undefined)[] = [];
    let listener: Parameters<typeof live.subscribe>[1] = () => undefined;
    vi.spyOn(live, "subscribe").mockImplementation((_topic, next, cursor) => {
      listener = next;
      cursors.push(cursor);
      return () => undefined;
    });
    const got: string[] = [];
    const onEnd = vi.fn();
    const last = { id: "7", time: undefined, level: undefined, rank: undefined, text: "" };
    taskLogs("t").follow?.(last, (lines) => got.push(...lines.map((line) => line.id)), onEnd);
    listener({ topic: "logs:t", op: "append", data: { lines: [{ id: "8", log: "a" }] } });
    listener({ topic: "logs:t", op: "reset", cursor: "c8" });
    listener({ topic: "logs:t", op: "append", data: { lines: [], ended: true } });
    expect(cursors).toEqual(["7", "c8"]);
    expect(got).toEqual(["8"]);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  it("does not begin for a run that has ended", () => {
    const subscribe = vi.spyOn(live, "subscribe");
    const onEnd = vi.fn();
    trialLogs(7, "t", { ended: true }).follow?.(undefined, () => undefined, onEnd);
    expect(onEnd).toHaveBeenCalledOnce();
    expect(subscribe).not.toHaveBeenCalled();
  });

  it("uses the route's own stream where the channel is silent", async () => {
    const asked = serve([{ id: 8, at: START }]);
    vi.spyOn(live, "subscribe").mockReturnValue(() => undefined);
    const got: string[] = [];
    taskLogs("t").follow?.(undefined, (lines) => got.push(...lines.map((line) => line.id)), () => undefined);
    await vi.advanceTimersByTimeAsync(5000);
    expect(asked[0]).toContain("follow=true");
    expect(got).toEqual(["8"]);
  });

  it("reads the route's stream again, after the last line, when it is cut", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", (input: string) => {
      asked.push(input);
      const line = (id: number) => `{"result":{"id":"${id}","timestamp":"2026-01-01T00:00:0${id}Z","log":"x"}}\n`;
      if (asked.length === 2) return Promise.reject(new TypeError("refused"));
      if (asked.length > 2) return Promise.resolve(new Response(line(1) + line(2)));
      const cut = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(line(1)));
        },
        pull: (controller) => controller.error(new TypeError("network error")),
      });
      return Promise.resolve(new Response(cut));
    });
    const got: string[] = [];
    const onEnd = vi.fn();
    trialLogs(7).follow?.(undefined, (lines) => got.push(...lines.map((line) => line.id)), onEnd);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(got).toEqual(["1", "2"]);
    expect(asked).toHaveLength(3);
    expect(asked[2]).toContain("timestampAfter=2025-12-31T23%3A59%3A58");
    expect(onEnd).toHaveBeenCalledOnce();
  });

  it("does not ask again for a log that the master refuses", async () => {
    const fetch = vi.fn(() => Promise.resolve(new Response('{"message":"no"}', { status: 403 })));
    vi.stubGlobal("fetch", fetch);
    trialLogs(7).follow?.(undefined, () => undefined, () => undefined);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(fetch).toHaveBeenCalledOnce();
  });
});

describe("the master's log", () => {
  it("is read by numbers", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", (input: string) => {
      asked.push(input);
      return Promise.resolve(new Response('{"result":{"logEntry":{"id":40,"message":"m","level":"LOG_LEVEL_INFO"}}}\n'));
    });
    const page = await masterLogs().loadBefore({ id: "50", time: undefined, level: undefined, rank: undefined, text: "" }, 10);
    expect(asked[0]).toContain("offset=40&limit=10");
    expect(page.lines[0]).toMatchObject({ id: "40", text: "m", level: "INFO" });
  });
});

describe("the wire", () => {
  it("cuts objects at line ends, wherever the pieces end", async () => {
    const bytes = new TextEncoder().encode('{"result":{"n":1}}\n{"result":{"n":"ü"}}\n');
    const stream = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(stream)));
    const got: unknown[] = [];
    await streamJson("/x", (batch) => got.push(...batch));
    expect(got).toEqual([{ n: 1 }, { n: "ü" }]);
  });

  it("raises an error that comes in the stream", async () => {
    vi.stubGlobal("fetch", () => Promise.resolve(new Response('{"error":{"httpCode":400,"message":"bad pattern"}}\n')));
    await expect(streamJson("/x", () => undefined)).rejects.toThrow("bad pattern");
  });

  it("has levels and ids in text", () => {
    expect(levelOf("LOG_LEVEL_UNSPECIFIED")).toBeUndefined();
    expect(levelOf("LOG_LEVEL_WARNING")).toBe("WARNING");
    expect(compareIds("9", "10")).toBeLessThan(0);
    expect(compareIds("11", "10")).toBeGreaterThan(0);
    expect(filterParams({ least: undefined, ranks: [] })).toEqual([]);
  });
});
