/** Draws a scene: bands, raw lines, lines, values at the edges, marks. */
import { nearestIndex } from "../math/nearest";
import type { Trace } from "../math/trace";
import type { Mark } from "../types";
import { bandPath, edgeMarkPath, edgeMarks, extremeColumns, extremesPath, linePath, toX, toY, type Frame } from "./paths";
import type { Pen } from "./pen";
import type { Ink } from "./theme";

export interface Scene {
  traces: readonly Trace[];
  marks: readonly Mark[];
  bands: boolean;
  /** Values outside the range of y are marked at the edge. */
  clipped: boolean;
}

/** Bands are drawn for few series only: more of them hide each other. */
const MAX_BANDS = 12;
const DOTS_UP_TO = 40;
/** Pixels by which a rounded place may lie outside of the frame. */
const EDGE = 1;

export function drawScene(pen: Pen, frame: Frame, scene: Scene, ink: Ink): void {
  const { marks } = scene;
  // Thick lines are drawn last: the selected ones lie above the muted ones.
  const traces = [...scene.traces].sort((a, b) => a.width - b.width);
  pen.clipped(frame, () => {
    for (const mark of marks) if (mark.kind === "pause") drawPause(pen, frame, mark, ink);
    const isCrowded = traces.length > MAX_BANDS;
    if (scene.bands && !isCrowded)
      for (const trace of traces) pen.fill((sink) => bandPath(sink, frame, trace), trace.colour, 0.16);
    for (const trace of traces) if (trace.raw) drawLine(pen, frame, trace, trace.raw, 0.25);
    for (const trace of traces)
      if (scene.bands && isCrowded && trace.low && !trace.raw) drawExtremes(pen, frame, trace);
      else drawLine(pen, frame, trace, trace.y, 1);
    for (const trace of traces) drawEdges(pen, frame, trace, scene.clipped);
    for (const mark of marks) if (!isOfCheckpoint(mark) && mark.kind !== "pause") drawLineMark(pen, frame, mark, ink);
  });
  // A diamond at the edge of the range stands out of the frame, whole.
  for (const mark of marks) if (isOfCheckpoint(mark)) drawDiamond(pen, frame, mark, traces, ink);
}

function isOfCheckpoint({ kind }: Mark): boolean {
  return kind === "best" || kind === "checkpoint";
}

function drawLine(pen: Pen, frame: Frame, trace: Trace, y: Float64Array, alpha: number): void {
  const { x, colour, width, dash } = trace;
  let alone: number[] = [];
  pen.stroke(
    (sink) => {
      alone = linePath(sink, frame, x, y);
    },
    { colour, width, dash, alpha },
  );
  const few = alpha === 1 && x.length <= DOTS_UP_TO && x.length * 10 < frame.width;
  for (const i of few ? y.keys() : alone) {
    const value = y[i] as number;
    if (!Number.isNaN(value))
      pen.dot(toX(frame, x[i] as number), toY(frame, value), few ? 2.2 : 1.8, colour, alpha);
  }
}

/** The line of buckets without their band: it visits their extremes, so that no spike is lost. */
function drawExtremes(pen: Pen, frame: Frame, trace: Trace): void {
  const { colour, width, dash } = trace;
  const columns = extremeColumns(frame, trace);
  if (columns) pen.rectangles(columns, colour);
  else pen.stroke((sink) => extremesPath(sink, frame, trace), { colour, width, dash, alpha: 1 });
}

function drawEdges(pen: Pen, frame: Frame, trace: Trace, clipped: boolean): void {
  const marks = edgeMarks(frame, trace, clipped);
  if (marks.length === 0) return;
  pen.stroke((sink) => marks.forEach((mark) => edgeMarkPath(sink, frame, mark)), {
    colour: trace.colour,
    width: 1.5,
  });
}

function drawPause(pen: Pen, frame: Frame, mark: Mark, ink: Ink): void {
  const from = toX(frame, mark.x);
  const to = Math.max(from + 2, toX(frame, mark.xEnd ?? mark.x));
  const bottom = frame.top + frame.height;
  pen.fill((sink) => polygon(sink, [[from, frame.top], [to, frame.top], [to, bottom], [from, bottom]]), ink.line, 0.5);
}

function drawDiamond(pen: Pen, frame: Frame, mark: Mark, traces: readonly Trace[], ink: Ink): void {
  const trace = traces.find((each) => each.id === mark.seriesId);
  const px = toX(frame, mark.x);
  const y = trace ? (trace.y[nearestIndex(trace.x, mark.x)] ?? NaN) : NaN;
  const bottom = frame.top + frame.height;
  const py = Number.isNaN(y) ? bottom - 8 : toY(frame, y);
  if (px < frame.left - EDGE || px > frame.left + frame.width + EDGE || py < frame.top - EDGE || py > bottom + EDGE) return;
  const best = mark.kind === "best";
  const colour = trace?.colour ?? ink.hint;
  const size = best ? 6 : 4;
  const corners: Corner[] = [[px, py - size], [px + size, py], [px, py + size], [px - size, py]];
  pen.fill((sink) => polygon(sink, corners), best ? ink.ground : colour);
  pen.stroke((sink) => polygon(sink, corners), { colour, width: 2 });
}

function drawLineMark(pen: Pen, frame: Frame, mark: Mark, ink: Ink): void {
  const px = toX(frame, mark.x);
  pen.stroke(
    (sink) => {
      sink.moveTo(px, frame.top);
      sink.lineTo(px, frame.top + frame.height);
    },
    { colour: ink.hint, width: 1, dash: mark.kind === "restart" ? [4, 3] : [1, 3] },
  );
  const sign = mark.kind === "restart" ? "↻" : mark.kind === "policy" ? "!" : "✎";
  pen.text(px + 3, frame.top + 11, sign, { colour: ink.hint });
}

type Corner = readonly [number, number];

function polygon(sink: { moveTo(x: number, y: number): void; lineTo(x: number, y: number): void }, corners: readonly Corner[]): void {
  corners.forEach(([x, y], i) => (i === 0 ? sink.moveTo(x, y) : sink.lineTo(x, y)));
  const [first] = corners;
  if (first) sink.lineTo(first[0], first[1]);
}
