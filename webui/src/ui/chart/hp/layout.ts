/** What the charts of a search show: places, counts and lines, without drawing. */
import { contours, type ContourMultiPolygon } from "d3-contour";

import type { Rung } from "@/data/experiments/rungs";

import type { HpAxis, HpRun } from "./axis";

export interface Brush {
  /** Places on the axis, ascending. */
  from: number;
  to: number;
}

/** Runs that lie inside all brushes; a run without a value on a brushed axis lies outside. */
export function brushed(runs: readonly HpRun[], axes: readonly HpAxis[], brushes: Readonly<Record<string, Brush>>, valueOf: (run: HpRun, axis: HpAxis) => unknown): Set<string> {
  const active = axes.filter((axis) => brushes[axis.name]);
  const inside = runs.filter((run) =>
    active.every((axis) => {
      const place = axis.place(valueOf(run, axis));
      const { from, to } = brushes[axis.name] as Brush;
      return place !== undefined && place >= from - 1e-9 && place <= to + 1e-9;
    }),
  );
  return new Set(inside.map((run) => run.id));
}

export function reordered(names: readonly string[], name: string, step: number): string[] {
  const at = names.indexOf(name);
  const to = Math.max(0, Math.min(names.length - 1, at + step));
  const rest = names.filter((each) => each !== name);
  rest.splice(to, 0, name);
  return rest;
}

export interface Trend {
  /** y = slope * x + offset, in places. */
  slope: number;
  offset: number;
  /** Pearson's correlation of the places. */
  correlation: number;
  count: number;
}

export function trendOf(points: readonly { x: number; y: number }[]): Trend | undefined {
  const count = points.length;
  if (count < 3) return undefined;
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / count;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / count;
  let xx = 0;
  let yy = 0;
  let xy = 0;
  for (const { x, y } of points) {
    xx += (x - meanX) ** 2;
    yy += (y - meanY) ** 2;
    xy += (x - meanX) * (y - meanY);
  }
  if (xx === 0 || yy === 0) return undefined;
  const slope = xy / xx;
  return { slope, offset: meanY - slope * meanX, correlation: xy / Math.sqrt(xx * yy), count };
}

export interface Cell {
  column: number;
  row: number;
  mean: number;
  count: number;
}

/** Means of a value in a grid of cells; row 0 is the lowest. */
export function heatCells(points: readonly { x: number; y: number; value: number }[], columns: number, rows: number): Cell[] {
  const cells = new Map<number, { sum: number; count: number }>();
  const cut = (part: number, size: number) => Math.max(0, Math.min(size - 1, Math.floor(part * size)));
  for (const { x, y, value } of points) {
    const key = cut(y, rows) * columns + cut(x, columns);
    const cell = cells.get(key) ?? { sum: 0, count: 0 };
    cells.set(key, { sum: cell.sum + value, count: cell.count + 1 });
  }
  return [...cells].map(([key, { sum, count }]) => ({
    column: key % columns,
    row: Math.floor(key / columns),
    mean: sum / count,
    count,
  }));
}

/** Cells of an axis: one a category, else about the root of the number of runs. */
export function cellCount(axis: HpAxis, runs: number): number {
  if (axis.kind === "category") return Math.max(1, axis.categories.length);
  return Math.max(4, Math.min(20, Math.round(Math.sqrt(runs))));
}

export const CONTOUR_GRID = 40;

/** Lines of equal value through scattered points: inverse-distance means on a grid. */
export function contourLines(points: readonly { x: number; y: number; value: number }[], levels: number): ContourMultiPolygon[] {
  if (points.length < 4) return [];
  const size = CONTOUR_GRID;
  const grid = new Float64Array(size * size);
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++)
      grid[row * size + column] = weighted(points, (column + 0.5) / size, (row + 0.5) / size);
  const low = Math.min(...grid);
  const high = Math.max(...grid);
  if (!(high > low)) return [];
  const thresholds = Array.from({ length: levels }, (_, i) => low + ((i + 0.5) / levels) * (high - low));
  return contours().size([size, size]).thresholds(thresholds)(Array.from(grid));
}

function weighted(points: readonly { x: number; y: number; value: number }[], x: number, y: number): number {
  let sum = 0;
  let weights = 0;
  for (const point of points) {
    const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
    const weight = 1 / (distance + 1e-4) ** 1.5;
    sum += point.value * weight;
    weights += weight;
  }
  return sum / weights;
}

/** The best value until each run, in order; undefined before the first. */
export function bestSoFar(values: readonly (number | undefined)[], smallerIsBetter: boolean): (number | undefined)[] {
  let best: number | undefined;
  return values.map((value) => {
    if (value !== undefined && Number.isFinite(value) && (best === undefined || (smallerIsBetter ? value < best : value > best))) best = value;
    return best;
  });
}

export interface RungColumn extends Rung {
  /** Trials that reached the rung and went on; at the top, those that finished. */
  passed: number;
  isTop: boolean;
}

export function rungColumns(rungs: readonly Rung[]): RungColumn[] {
  return rungs.map((rung, i) => ({ ...rung, passed: rung.reached - rung.stopped, isTop: i === rungs.length - 1 }));
}

export interface Span {
  id: string;
  label: string;
  /** Milliseconds since the epoch. */
  start: number;
  /** Undefined while it runs. */
  end: number | undefined;
  state: string;
}

export interface Placed extends Span {
  lane: number;
}

/** Each span in the first lane that is free when it starts. */
export function lanesOf(spans: readonly Span[], now: number): Placed[] {
  const free: number[] = [];
  return [...spans]
    .sort((a, b) => a.start - b.start)
    .map((span) => {
      const open = free.findIndex((end) => end <= span.start);
      const lane = open < 0 ? free.length : open;
      free[lane] = span.end ?? now;
      return { ...span, lane };
    });
}
