/**
 * Charts that come into view together read together: one request has the metrics of several.
 *
 * The master unpacks a report once for all of the metrics that a request asks for.
 */
import { readSeries } from "./read";
import type { MetricId, SeriesQuery, TrialSeries } from "./types";

/** Metrics of one request: the first charts do not wait for all of them. */
const MAX_TOGETHER = 12;
/** Buckets of one request, of all of its series. */
const MAX_BUCKETS = 200_000;

interface Caller {
  metrics: readonly MetricId[];
  signal: AbortSignal | undefined;
  resolve(series: TrialSeries[]): void;
  reject(error: unknown): void;
}

interface Waiting {
  query: Omit<SeriesQuery, "metrics">;
  callers: Caller[];
}

type Read = (query: SeriesQuery, signal?: AbortSignal) => Promise<TrialSeries[]>;

/** `readSeries`, joined with the other calls of the same task for the same trials and range. */
export function makeReader(read: Read = readSeries): Read {
  const waiting = new Map<string, Waiting>();
  return ({ metrics, ...query }, signal) => {
    const key = JSON.stringify([query.trialIds, query.x, query.range ?? null, query.buckets]);
    return new Promise((resolve, reject) => {
      const found = waiting.get(key);
      if (found) {
        found.callers.push({ metrics, signal, resolve, reject });
        return;
      }
      waiting.set(key, { query, callers: [{ metrics, signal, resolve, reject }] });
      setTimeout(() => {
        const { callers } = waiting.get(key) as Waiting;
        waiting.delete(key);
        const lines = query.trialIds.length * query.buckets;
        const most = Math.max(1, Math.min(MAX_TOGETHER, Math.floor(MAX_BUCKETS / Math.max(1, lines))));
        for (const part of parts(callers, most)) void send(read, query, part);
      });
    });
  };
}

export const readTogether = makeReader();

/** Callers in their order, with at most so many metrics a part. */
function parts(callers: readonly Caller[], most: number): Caller[][] {
  const out: Caller[][] = [];
  let size = Infinity;
  for (const caller of callers) {
    if (size + caller.metrics.length > most) {
      out.push([]);
      size = 0;
    }
    (out.at(-1) as Caller[]).push(caller);
    size += caller.metrics.length;
  }
  return out;
}

async function send(read: Read, query: Waiting["query"], callers: readonly Caller[]): Promise<void> {
  const abort = new AbortController();
  const giveUp = () => {
    if (callers.every(({ signal }) => signal?.aborted)) abort.abort();
  };
  callers.forEach(({ signal }) => signal?.addEventListener("abort", giveUp));
  const metrics = new Map(callers.flatMap((each) => each.metrics).map((each) => [idOf(each), each]));
  try {
    const all = await read({ ...query, metrics: [...metrics.values()] }, abort.signal);
    for (const caller of callers) {
      const own = new Set(caller.metrics.map(idOf));
      caller.resolve(all.filter((each) => own.has(idOf(each))));
    }
  } catch (error) {
    callers.forEach(({ reject }) => reject(error));
  } finally {
    callers.forEach(({ signal }) => signal?.removeEventListener("abort", giveUp));
  }
}

function idOf({ group, name }: MetricId): string {
  return `${group}.${name}`;
}
