/**
 * The logs of a task or a trial.
 *
 *     const source = useMemo(() => taskLogs(taskId), [taskId]);
 *
 * Pages come from the public routes. They order lines by id, but take bounds of time only, and the
 * lines of several ranks arrive out of order of time: a page therefore asks for some seconds more
 * and drops what lies beyond its line. New lines come over the live channel, or, without it, over
 * the route's own `follow`.
 */
import { ApiError } from "@/api/errors";
import { live, type Frame } from "@/data/live";

import { compareIds, filterParams, lineOf, type WireLine } from "./lines";
import { readJson, streamJson } from "./ndjson";
import { NO_FILTER, shows, type LogFilter, type LogLine, type LogPage, type LogSource } from "./types";

/** How far the times of neighbouring lines may be out of order. */
const SLACK_MS = 3000;
const MAX_BATCH = 64_000;
/** The live channel has this long to confirm a subscription. */
const CONFIRM_MS = 4000;
const FOUND = 300;
/** Between the end of a stream that was cut and the next. */
const AGAIN_MS = 2000;

export function taskLogs(taskId: string, filter: LogFilter = NO_FILTER): LogSource {
  return source({ path: `/api/v1/tasks/${encodeURIComponent(taskId)}/logs`, topic: `logs:${taskId}` }, filter);
}

/**
 * `taskId` is that of the trial's latest task; without it the live channel is not used. The log of
 * a trial that has ended is not followed.
 */
export function trialLogs(
  trialId: number,
  taskId?: string,
  { filter = NO_FILTER, ended = false }: { filter?: LogFilter; ended?: boolean } = {},
): LogSource {
  const topic = taskId ? `logs:${taskId}` : undefined;
  return source({ path: `/api/v1/trials/${trialId}/logs`, topic, ended }, filter);
}

interface Log {
  path: string;
  topic: string | undefined;
  ended?: boolean;
}

function source(log: Log, filter: LogFilter): LogSource {
  const read = async (params: [string, string][]) =>
    (await readJson<WireLine>(address(log, [...filterParams(filter), ...params]))).map(lineOf);
  return {
    async loadBefore(line, count) {
      const bound = line && shifted(line, SLACK_MS);
      const order: [string, string] = ["orderBy", "ORDER_BY_DESC"];
      const page = await fullPage(
        (limit) => read([order, ["limit", limit], ...(bound ? [["timestampBefore", bound] as [string, string]] : [])]),
        (each) => !line || compareIds(each.id, line.id) < 0,
        count,
      );
      page.lines.reverse();
      return page;
    },
    async loadAfter(line, count) {
      const bound = line && shifted(line, -SLACK_MS);
      return fullPage(
        (limit) => read([["limit", limit], ...(bound ? [["timestampAfter", bound] as [string, string]] : [])]),
        (each) => !line || compareIds(each.id, line.id) > 0,
        count,
      );
    },
    follow(line, onLines, onEnd) {
      if (!log.ended) return follow(log, filter, line, onLines, onEnd);
      onEnd();
      return () => undefined;
    },
    async search({ text, regex }) {
      const lines = await read([
        ["searchText", text],
        ["orderBy", "ORDER_BY_DESC"],
        ["limit", String(FOUND)],
        ...(regex ? [["enableRegex", "true"] as [string, string]] : []),
      ]);
      return lines.reverse();
    },
    withFilter: (next) => source(log, next),
    file: () => fileOf(log.path),
  };
}

/** In pieces, so that the texts of a long log are not joined in memory. */
async function fileOf(path: string): Promise<Blob> {
  const pieces: string[] = [];
  await streamJson<WireLine>(path, (batch) => pieces.push(batch.map((each) => each.message ?? each.log ?? "").join("")));
  return new Blob(pieces, { type: "text/plain" });
}

function address({ path }: Log, params: [string, string][]): string {
  return `${path}?${new URLSearchParams(params)}`;
}

function shifted({ time }: LogLine, ms: number): string | undefined {
  const at = time ? Date.parse(time) : NaN;
  return Number.isNaN(at) ? undefined : new Date(at + ms).toISOString();
}

/** Asks for more until `count` lines are on the wanted side, or nothing is left. */
async function fullPage(
  read: (limit: string) => Promise<LogLine[]>,
  wanted: (line: LogLine) => boolean,
  count: number,
): Promise<LogPage> {
  for (let limit = count; ; limit *= 4) {
    const lines = await read(String(limit));
    const kept = lines.filter(wanted);
    const all = lines.length < limit;
    if (all || kept.length >= count || (kept.length > 0 && limit >= MAX_BATCH))
      return { lines: kept.slice(0, count), end: all && kept.length <= count };
    if (limit >= 16 * MAX_BATCH) return { lines: [], end: true };
  }
}

function follow(
  log: Log,
  filter: LogFilter,
  line: LogLine | undefined,
  onLines: (lines: LogLine[]) => void,
  onEnd: () => void,
): () => void {
  let last = line;
  let stop: () => void = () => undefined;
  const take = (wire: readonly WireLine[]) => {
    const lines = wire.map(lineOf).filter((each) => shows(filter, each));
    last = lines[lines.length - 1] ?? last;
    if (lines.length > 0) onLines(lines);
  };
  const stream = () => {
    stop();
    stop = overHttp(log, filter, last, take, onEnd);
  };
  if (!log.topic) stream();
  else stop = overLive(log.topic, line?.id ?? "0", take, onEnd, stream);
  return () => stop();
}

interface LogFrame {
  lines?: WireLine[];
  ended?: boolean;
}

/** `onRefused` is called when the channel does not carry the topic. */
function overLive(
  topic: string,
  cursor: string,
  take: (lines: readonly WireLine[]) => void,
  onEnd: () => void,
  onRefused: () => void,
): () => void {
  let leave: () => void = () => undefined;
  const timer = setTimeout(() => onRefused(), CONFIRM_MS);
  const listen = (frame: Frame) => {
    clearTimeout(timer);
    if (frame.op === "error") {
      onRefused();
      return;
    }
    if (frame.op === "reset") {
      // The topic has ended: it begins again where this viewer lost its place.
      leave();
      leave = live.subscribe(topic, listen, frame.cursor ?? cursor);
      return;
    }
    const { lines = [], ended } = (frame.data ?? {}) as LogFrame;
    take(lines);
    if (ended) onEnd();
  };
  leave = live.subscribe(topic, listen, cursor);
  return () => {
    clearTimeout(timer);
    leave();
  };
}

/** A stream that is cut, as by the master's end, begins again after the last line. */
function overHttp(
  log: Log,
  filter: LogFilter,
  line: LogLine | undefined,
  take: (lines: readonly WireLine[]) => void,
  onEnd: () => void,
): () => void {
  const abort = new AbortController();
  let last = line;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const fresh = (batch: WireLine[]) => {
    const news = batch.filter((each) => !last || compareIds(String(each.id), last.id) > 0);
    const newest = news[news.length - 1];
    if (newest) last = lineOf(newest);
    take(news);
  };
  const read = () => {
    const bound = last && shifted(last, -SLACK_MS);
    const params: [string, string][] = [["follow", "true"], ...filterParams(filter)];
    if (bound) params.push(["timestampAfter", bound]);
    streamJson<WireLine>(address(log, params), fresh, abort.signal).then(onEnd, (error: unknown) => {
      if (!abort.signal.aborted && !isFinal(error)) timer = setTimeout(read, AGAIN_MS);
    });
  };
  read();
  return () => {
    clearTimeout(timer);
    abort.abort();
  };
}

/** The master refuses the log: to ask again changes nothing. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
}
