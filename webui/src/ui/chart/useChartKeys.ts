/** The keyboard of a chart: a cursor from point to point, zoom, pan. */
import { useCallback, useState, type KeyboardEvent } from "react";

import { nearestIndex, type Hit } from "./math/nearest";
import { panned, zoomed } from "./math/range";
import type { Trace } from "./math/trace";
import type { Range } from "./types";

export const KEYS_HELP =
  "Left and right arrows move the cursor from point to point, up and down change the line, " +
  "Home and End go to the ends. Plus and minus zoom, Shift with arrows moves the range, zero shows all.";

interface View {
  traces: readonly Trace[];
  x: Range;
  limits: Range;
  onZoom(x: Range | undefined): void;
}

export interface Cursor {
  traceId: string;
  index: number;
}

export function useChartKeys({ traces, x, limits, onZoom }: View) {
  const [cursor, setCursor] = useState<Cursor>();
  const point = cursor && hitOf(traces, cursor);
  const onKeyDown = useCallback(
    (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const zoom = zoomKey(event, x, limits, point?.x);
      if (zoom !== "none") {
        onZoom(zoom);
        event.preventDefault();
        return;
      }
      if (event.key === "Escape" && cursor) {
        setCursor(undefined);
        event.stopPropagation();
        return;
      }
      const next = moved(event.key, traces, cursor, x);
      if (!next) return;
      setCursor(next);
      event.preventDefault();
      keepVisible(hitOf(traces, next)?.x, x, limits, onZoom);
    },
    [traces, x, limits, onZoom, cursor, point?.x],
  );
  return { point, onKeyDown, clear: useCallback(() => setCursor(undefined), []) };
}

/** `undefined` resets the zoom; `none` is no key of zoom. */
function zoomKey(event: KeyboardEvent, x: Range, limits: Range, at: number | undefined): Range | undefined | "none" {
  const centre = at ?? (x[0] + x[1]) / 2;
  if (event.key === "+" || event.key === "=") return zoomed(x, limits, 0.7, centre);
  if (event.key === "-" || event.key === "_") return zoomed(x, limits, 1 / 0.7, centre);
  if (event.key === "0") return undefined;
  if (event.shiftKey && event.key === "ArrowLeft") return panned(x, limits, -0.2);
  if (event.shiftKey && event.key === "ArrowRight") return panned(x, limits, 0.2);
  return "none";
}

export function hitOf(traces: readonly Trace[], { traceId, index }: Cursor): Hit | undefined {
  const trace = traces.find((each) => each.id === traceId);
  if (!trace || index < 0 || index >= trace.x.length) return undefined;
  const x = trace.x[index] as number;
  const value = trace.values[index] as number;
  const odd = Number.isFinite(value) ? undefined : trace.nonFinite.find((each) => each.x === x);
  return { trace, index, x, value, y: trace.y[index] as number, nonFinite: odd?.value };
}

/** Where a key leads; undefined when it leads nowhere. */
export function moved(
  key: string,
  traces: readonly Trace[],
  cursor: Cursor | undefined,
  within: Range,
): Cursor | undefined {
  const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
  const step = steps[key];
  const trace = traces.find((each) => each.id === cursor?.traceId) ?? traces.find((each) => each.x.length > 0);
  if (!trace) return undefined;
  const last = trace.x.length - 1;
  if (key === "Home") return { traceId: trace.id, index: 0 };
  if (key === "End") return { traceId: trace.id, index: last };
  if (step !== undefined) {
    if (!cursor) return { traceId: trace.id, index: nearestIndex(trace.x, step > 0 ? within[0] : within[1]) };
    return { traceId: trace.id, index: Math.max(0, Math.min(last, cursor.index + step)) };
  }
  if (key !== "ArrowUp" && key !== "ArrowDown") return undefined;
  return neighbour(key === "ArrowUp", traces, trace, cursor, within);
}

/** The line above or below, by value at the cursor's place. */
function neighbour(
  up: boolean,
  traces: readonly Trace[],
  trace: Trace,
  cursor: Cursor | undefined,
  within: Range,
): Cursor | undefined {
  const x = cursor ? (trace.x[cursor.index] as number) : within[0];
  const places = traces
    .filter((each) => each.x.length > 0)
    .map((each) => ({ id: each.id, index: nearestIndex(each.x, x), y: each.y[nearestIndex(each.x, x)] as number }))
    .sort((a, b) => (Number.isNaN(a.y) ? 1 : Number.isNaN(b.y) ? -1 : b.y - a.y));
  const at = places.findIndex((each) => each.id === trace.id);
  const next = places[Math.max(0, Math.min(places.length - 1, at + (up ? -1 : 1)))];
  return next && { traceId: next.id, index: next.index };
}

function keepVisible(at: number | undefined, x: Range, limits: Range, onZoom: (x: Range) => void): void {
  if (at === undefined || (at >= x[0] && at <= x[1])) return;
  onZoom(panned(x, limits, (at - (at < x[0] ? x[0] : x[1])) / (x[1] - x[0])));
}
