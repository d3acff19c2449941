/** Smoothed lines: at once for little data, by a worker for much. */
import { useEffect, useMemo, useState } from "react";

import type { Numbers, Smoothing } from "../types";
import { smooth } from "./smooth";
import type { SmoothJob } from "./smooth.worker";

/** Points of a chart up to which the page's own thread smooths in about a millisecond. */
const AT_ONCE = 20_000;

type Lists = readonly { x: Numbers; y: Numbers }[];

let worker: Worker | undefined;
let next = 1;
const waiting = new Map<number, (results: Float64Array[]) => void>();

function inWorker(lists: Lists, smoothing: Smoothing, done: (r: Float64Array[]) => void): () => void {
  if (!worker) {
    worker = new Worker(new URL("./smooth.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<{ id: number; results: Float64Array[] }>) => {
      waiting.get(data.id)?.(data.results);
      waiting.delete(data.id);
    };
  }
  const id = next++;
  waiting.set(id, done);
  worker.postMessage({ id, lists: lists.map(({ x, y }) => ({ x, y })), smoothing } satisfies SmoothJob);
  return () => waiting.delete(id);
}

/** Aligned with `lists`; undefined while smoothing is off, or the worker has not answered yet. */
export function useSmoothed(lists: Lists, smoothing: Smoothing): readonly Numbers[] | undefined {
  const { kind, amount } = smoothing;
  const total = useMemo(() => lists.reduce((sum, { x }) => sum + x.length, 0), [lists]);
  const away = total > AT_ONCE && typeof Worker !== "undefined";
  const here = useMemo(
    () =>
      kind === "none" || away ? undefined : lists.map(({ x, y }) => smooth(x, y, { kind, amount })),
    [lists, kind, amount, away],
  );
  const [answer, setAnswer] = useState<{ lists: Lists; results: Float64Array[] }>();
  useEffect(() => {
    if (kind === "none" || !away) return;
    return inWorker(lists, { kind, amount }, (results) => setAnswer({ lists, results }));
  }, [lists, kind, amount, away]);
  if (kind === "none") return undefined;
  if (!away) return here;
  return answer && answer.lists.length === lists.length && sameLengths(answer.results, lists)
    ? answer.results
    : undefined;
}

function sameLengths(results: readonly Numbers[], lists: Lists): boolean {
  return results.every((each, i) => each.length === lists[i]?.x.length);
}
