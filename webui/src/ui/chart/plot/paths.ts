/** Lines, bands and edge marks as paths in pixels; canvases and SVG share them. */
import { indicesIn } from "../math/nearest";
import type { Trace } from "../math/trace";
import type { Numbers, Range } from "../types";

/** What a path is written to: `Path2D` and `SvgPath` are such. */
export interface Sink {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
}

/** The plotting area in pixels and the ranges that it shows. */
export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
  x: Range;
  y: Range;
}

export function toX(frame: Frame, x: number): number {
  return frame.left + ((x - frame.x[0]) / (frame.x[1] - frame.x[0])) * frame.width;
}

/** Far outside the area a place is cut, so that no number overflows. */
export function toY(frame: Frame, y: number): number {
  const part = (y - frame.y[0]) / (frame.y[1] - frame.y[0]);
  return frame.top + frame.height * (1 - Math.max(-2, Math.min(3, part)));
}

/**
 * The line through the points in range. Where several points share a column of pixels, the path
 * visits the lowest and the highest of them, so that no spike is lost. Returns the indices of
 * points that stand alone between gaps: the caller draws them as dots.
 */
export function linePath(sink: Sink, frame: Frame, x: Numbers, y: Numbers): number[] {
  const [first, last] = indicesIn(x, frame.x);
  const alone: number[] = [];
  const dense = last - first > 2 * frame.width;
  let open = false;
  for (let i = first; i <= last; i++) {
    const value = y[i] as number;
    if (Number.isNaN(value)) {
      open = false;
      continue;
    }
    if (dense) i = column(sink, frame, x, y, i, last, open);
    else {
      const px = toX(frame, x[i] as number);
      const py = toY(frame, value);
      if (open) sink.lineTo(px, py);
      else {
        sink.moveTo(px, py);
        if (i === last || Number.isNaN(y[i + 1] as number)) alone.push(i);
      }
    }
    open = true;
  }
  return alone;
}

/** Draws the points of one column of pixels and returns the index of the last of them. */
function column(
  sink: Sink,
  frame: Frame,
  x: Numbers,
  y: Numbers,
  start: number,
  last: number,
  open: boolean,
): number {
  const px = Math.round(toX(frame, x[start] as number));
  let low = y[start] as number;
  let high = low;
  let end = start;
  for (let i = start + 1; i <= last; i++) {
    const value = y[i] as number;
    if (Number.isNaN(value) || Math.round(toX(frame, x[i] as number)) !== px) break;
    if (value < low) low = value;
    if (value > high) high = value;
    end = i;
  }
  const from = toY(frame, y[start] as number);
  if (open) sink.lineTo(px, from);
  else sink.moveTo(px, from);
  if (end > start) {
    sink.lineTo(px, toY(frame, low));
    sink.lineTo(px, toY(frame, high));
    sink.lineTo(px, toY(frame, y[end] as number));
  }
  return end;
}

/** The area between the extremes of the buckets, one closed shape between two gaps. */
export function bandPath(sink: Sink & { closePath(): void }, frame: Frame, trace: Trace): void {
  const { x, low, high } = trace;
  if (!low || !high) return;
  const [first, last] = indicesIn(x, frame.x);
  let start = -1;
  for (let i = first; i <= last + 1; i++) {
    const gap = i > last || Number.isNaN(low[i] as number) || Number.isNaN(high[i] as number);
    if (!gap && start < 0) start = i;
    if (!gap || start < 0) continue;
    for (let j = start; j < i; j++) {
      const px = toX(frame, x[j] as number);
      if (j === start) sink.moveTo(px, toY(frame, high[j] as number));
      else sink.lineTo(px, toY(frame, high[j] as number));
    }
    for (let j = i - 1; j >= start; j--) sink.lineTo(toX(frame, x[j] as number), toY(frame, low[j] as number));
    sink.closePath();
    start = -1;
  }
}

/** The line through the buckets in range, by the lowest and the highest value of each. */
export function extremesPath(sink: Sink, frame: Frame, { x, y, low, high }: Trace): void {
  const [first, last] = indicesIn(x, frame.x);
  let open = false;
  for (let i = first; i <= last; i++) {
    const value = y[i] as number;
    if (Number.isNaN(value)) {
      open = false;
      continue;
    }
    const px = toX(frame, x[i] as number);
    const least = low?.[i] ?? value;
    const most = high?.[i] ?? value;
    if (open) sink.lineTo(px, toY(frame, least));
    else sink.moveTo(px, toY(frame, least));
    // A value alone needs a line of some length to be seen.
    sink.lineTo(px, toY(frame, most));
    sink.lineTo(px, toY(frame, value));
    open = true;
  }
}

/** Buckets at most so many pixels wide are drawn as columns: a stroke of them takes seconds. */
const MAX_COLUMN = 4;

/**
 * The line through the buckets in range as columns between the lowest and the highest value of
 * each: left, top, width and height of one after the other. A column reaches the one before it, and
 * is as high as the line is thick. Undefined where the buckets are too wide for it.
 */
export function extremeColumns(frame: Frame, trace: Trace): number[] | undefined {
  const { x, y, low, high, width: thick, dash } = trace;
  const [first, last] = indicesIn(x, frame.x);
  const span = last > first ? (toX(frame, x[last] as number) - toX(frame, x[first] as number)) / (last - first) : 0;
  if (!low || !high || span > MAX_COLUMN || last <= first) return undefined;
  const columns: number[] = [];
  let before: readonly [number, number] | undefined;
  for (let i = first; i <= last; i++) {
    if (Number.isNaN(y[i] as number)) {
      before = undefined;
      continue;
    }
    let top = toY(frame, high[i] as number);
    let bottom = toY(frame, low[i] as number);
    const own = [top, bottom] as const;
    if (before) {
      top = Math.min(top, before[1]);
      bottom = Math.max(bottom, before[0]);
    }
    before = own;
    const left = toX(frame, x[i] as number);
    const next = i < last ? toX(frame, x[i + 1] as number) : left + span;
    const height = Math.max(thick, bottom - top);
    if (isInked(left, dash)) columns.push(left, (top + bottom - height) / 2, Math.max(thick, Math.min(next - left, MAX_COLUMN)), height);
  }
  return columns;
}

/** Whether a dashed line has ink at a place. */
function isInked(px: number, dash: readonly number[]): boolean {
  const whole = dash.reduce((sum, each) => sum + each, 0);
  if (whole <= 0) return true;
  let rest = px % whole;
  for (let i = 0; i < dash.length; i++) {
    rest -= dash[i] as number;
    if (rest < 0) return i % 2 === 0;
  }
  return true;
}

export type EdgeKind = "up" | "down" | "nan";

export interface EdgeMark {
  px: number;
  /** At the upper edge, else at the lower one. */
  top: boolean;
  kind: EdgeKind;
}

/** Marks of values that are not finite, and, where the range is clipped, of values outside. */
export function edgeMarks(frame: Frame, trace: Trace, clipped: boolean): EdgeMark[] {
  const marks = new Map<string, EdgeMark>();
  const add = (x: number, kind: EdgeKind) => {
    if (x < frame.x[0] || x > frame.x[1]) return;
    // Marks closer than 4 px are one mark.
    const px = Math.round(toX(frame, x) / 4) * 4;
    marks.set(`${px}${kind}`, { px, top: kind === "up", kind });
  };
  for (const { x, value } of trace.nonFinite)
    add(x, value === "Infinity" ? "up" : value === "-Infinity" ? "down" : "nan");
  if (clipped) {
    const [first, last] = indicesIn(trace.x, frame.x);
    for (let i = first; i <= last; i++) {
      const y = trace.y[i] as number;
      if (y > frame.y[1]) add(trace.x[i] as number, "up");
      else if (y < frame.y[0]) add(trace.x[i] as number, "down");
    }
  }
  return [...marks.values()];
}

/** The shape of an edge mark: a triangle that points out of the area, or a cross for NaN. */
export function edgeMarkPath(sink: Sink, frame: Frame, { px, top, kind }: EdgeMark): void {
  const edge = top ? frame.top + 1 : frame.top + frame.height - 1;
  const inward = top ? 1 : -1;
  if (kind === "nan") {
    sink.moveTo(px - 3, edge - 7);
    sink.lineTo(px + 3, edge - 1);
    sink.moveTo(px + 3, edge - 7);
    sink.lineTo(px - 3, edge - 1);
    return;
  }
  sink.moveTo(px - 3.5, edge + inward * 6);
  sink.lineTo(px, edge);
  sink.lineTo(px + 3.5, edge + inward * 6);
  sink.lineTo(px - 3.5, edge + inward * 6);
}
