/** The plotting area of a chart with two axes, and its axes. */
import type { Pen } from "../plot/pen";
import type { Ink } from "../plot/theme";
import type { HpAxis } from "./axis";

export interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

export function areaOf(width: number, height: number): Area {
  return { left: 66, top: 10, width: Math.max(20, width - 84), height: Math.max(20, height - 54) };
}

/** Points stay 3 % away from the edges. */
export function px(area: Area, place: number): number {
  return area.left + area.width * (0.03 + place * 0.94);
}

export function py(area: Area, place: number): number {
  return area.top + area.height * (0.97 - place * 0.94);
}

export function drawAxes(pen: Pen, ink: Ink, area: Area, x: HpAxis, y: HpAxis): void {
  const bottom = area.top + area.height;
  for (const { place, label } of thinned(y.ticks, area.height / 24)) {
    segment(pen, ink.line, [area.left, py(area, place)], [area.left + area.width, py(area, place)]);
    pen.text(area.left - 8, py(area, place) + 4, cut(label, 9), { colour: ink.text, anchor: "end" });
  }
  for (const { place, label } of thinned(x.ticks, area.width / 64)) {
    segment(pen, ink.line, [px(area, place), area.top], [px(area, place), bottom]);
    pen.text(px(area, place), bottom + 16, cut(label, 10), { colour: ink.text, anchor: "middle" });
  }
  pen.text(area.left + area.width / 2, bottom + 36, `${x.name}${x.kind === "log" ? " (log)" : ""}`, { colour: ink.text, anchor: "middle" });
}

export function segment(pen: Pen, colour: string, from: readonly [number, number], to: readonly [number, number], width = 1): void {
  pen.stroke(
    (sink) => {
      sink.moveTo(from[0], from[1]);
      sink.lineTo(to[0], to[1]);
    },
    { colour, width },
  );
}

export function rectangle(pen: Pen, colour: string, { left, top, width, height }: Area, alpha = 1): void {
  pen.fill(
    (sink) => {
      sink.moveTo(left, top);
      sink.lineTo(left + width, top);
      sink.lineTo(left + width, top + height);
      sink.lineTo(left, top + height);
      sink.closePath();
    },
    colour,
    alpha,
  );
}

/** Every nth tick, so that at most `most` remain. */
export function thinned<T>(ticks: readonly T[], most: number): T[] {
  const step = Math.max(1, Math.ceil(ticks.length / Math.max(1, most)));
  return ticks.filter((_, i) => i % step === 0);
}

export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
