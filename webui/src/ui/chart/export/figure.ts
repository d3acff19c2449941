/** The chart as a picture of its own: title, axes, lines, legend. */
import { distinctLabels, xLabels, xTicks, yTicks } from "../math/ticks";
import { extremes, smoothingText } from "../math/summary";
import { drawScene } from "../plot/draw";
import { toX, toY, type Frame } from "../plot/paths";
import { CanvasPen, SvgPen, type Pen } from "../plot/pen";
import type { PlotState } from "../plot/Plot";
import { inkOf, type Ink } from "../plot/theme";
import { formatNumber } from "@/data/format/numbers";
import { axisName, type Smoothing } from "../types";

export interface Figure {
  title: string;
  state: PlotState;
  smoothing: Smoothing;
  width: number;
  height: number;
}

const LEGEND_ROW = 18;
const LEGEND_COLUMN = 300;

export function toSvg(figure: Figure): string {
  const ink = inkOf(figure.state.theme);
  const size = sizeOf(figure);
  const pen = new SvgPen(size.width, size.height, ink.family);
  drawFigure(pen, figure, ink);
  return pen.toString();
}

export async function toPng(figure: Figure, ratio: number): Promise<Blob> {
  const ink = inkOf(figure.state.theme);
  const size = sizeOf(figure);
  const canvas = document.createElement("canvas");
  canvas.width = size.width * ratio;
  canvas.height = size.height * ratio;
  const ctx = canvas.getContext("2d");
  if (!ctx) throw new Error("This browser offers no canvas: export SVG instead.");
  ctx.scale(ratio, ratio);
  drawFigure(new CanvasPen(ctx, ink.family), figure, ink);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large."))), "image/png"),
  );
}

function sizeOf({ width, height, state }: Figure) {
  const columns = Math.max(1, Math.floor((width - 24) / LEGEND_COLUMN));
  const rows = Math.ceil(state.scene.traces.length / columns);
  return { width, height: height + 34 + rows * LEGEND_ROW + 12, columns };
}

function drawFigure(pen: Pen, figure: Figure, ink: Ink): void {
  const { state, title, smoothing, width, height } = figure;
  const size = sizeOf(figure);
  pen.fill((sink) => box(sink, 0, 0, size.width, size.height), ink.ground);
  pen.text(16, 22, title, { colour: ink.strong, size: 14, bold: true });
  const note = smoothingText(smoothing);
  if (note) pen.text(width - 16, 22, note, { colour: ink.hint, anchor: "end" });
  const frame: Frame = { left: 72, top: 36, width: width - 92, height: height - 52, x: state.x, y: state.y };
  drawAxes(pen, frame, state, ink);
  drawScene(pen, frame, state.scene, ink);
  drawLegend(pen, figure, size.columns, height + 36, ink);
}

function drawAxes(pen: Pen, frame: Frame, { axis, scale, x, y }: PlotState, ink: Ink): void {
  const bottom = frame.top + frame.height;
  const ys = yTicks(y, scale, Math.max(2, Math.floor(frame.height / 42)));
  const yTexts = distinctLabels(ys.map(scale.from));
  ys.forEach((place, i) => {
    const py = toY(frame, place);
    line(pen, frame.left, py, frame.left + frame.width, py, ink);
    pen.text(frame.left - 8, py + 4, yTexts[i] as string, { colour: ink.text, anchor: "end" });
  });
  const xs = xTicks(x, axis, Math.max(2, Math.floor(frame.width / 100)));
  const xTexts = xLabels(xs, axis);
  xs.forEach((place, i) => {
    const px = toX(frame, place);
    line(pen, px, frame.top, px, bottom, ink);
    pen.text(px, bottom + 16, xTexts[i] as string, { colour: ink.text, anchor: "middle" });
  });
  pen.text(frame.left + frame.width / 2, bottom + 34, axisName(axis), { colour: ink.text, anchor: "middle" });
}

function drawLegend(pen: Pen, { state }: Figure, columns: number, top: number, ink: Ink): void {
  state.scene.traces.forEach((trace, i) => {
    const x = 16 + (i % columns) * LEGEND_COLUMN;
    const y = top + Math.floor(i / columns) * LEGEND_ROW + 10;
    pen.stroke(
      (sink) => {
        sink.moveTo(x, y - 4);
        sink.lineTo(x + 22, y - 4);
      },
      { colour: trace.colour, width: 2.5, dash: trace.dash },
    );
    const odd = trace.nonFiniteCount > 0 ? `, ${trace.nonFiniteCount} not finite` : "";
    const value = formatNumber(extremes(trace.values).last);
    pen.text(x + 30, y, `${cut(trace.label)}  ${value}${odd}`, { colour: ink.text });
  });
}

function cut(label: string): string {
  return label.length > 24 ? `${label.slice(0, 23)}…` : label;
}

function line(pen: Pen, x1: number, y1: number, x2: number, y2: number, ink: Ink): void {
  pen.stroke(
    (sink) => {
      sink.moveTo(x1, y1);
      sink.lineTo(x2, y2);
    },
    { colour: ink.line, width: 1 },
  );
}

function box(sink: { moveTo(x: number, y: number): void; lineTo(x: number, y: number): void }, x: number, y: number, width: number, height: number): void {
  sink.moveTo(x, y);
  sink.lineTo(x + width, y);
  sink.lineTo(x + width, y + height);
  sink.lineTo(x, y + height);
  sink.lineTo(x, y);
}
