/**
 * One hyperparameter against the metric (`ScatterChart`, `SliceCharts`), and two of them with the
 * metric as colour (`HeatMapChart`, `ContourChart`).
 *
 *     <ScatterChart runs={runs} x="lr" metric="validation_loss" onOpen={open} />
 *     <HeatMapChart runs={runs} x="lr" y="batch" metric="validation_loss" smallerIsBetter />
 */
import { useCallback, useMemo } from "react";

import { formatNumber, plural } from "@/data/format/numbers";

import { colourOf, hueOf, rampColour } from "../palette";
import type { Ink } from "../plot/theme";
import { goodness, makeAxis, textOf, variedNames, type AxisKind, type HpAxis, type HpRun } from "./axis";
import { CanvasChart, type Drawing } from "./CanvasChart";
import { areaOf, drawAxes, px, py, rectangle, segment } from "./frame";
import styles from "./Hp.module.css";
import { cellCount, CONTOUR_GRID, contourLines, heatCells, trendOf } from "./layout";

interface Shared {
  runs: readonly HpRun[];
  metric: string;
  height?: number;
  highlight?: string | undefined;
  onHighlight?(id: string | undefined): void;
  onOpen?(id: string): void;
}

export interface ScatterProps extends Shared {
  x: string;
  xKind?: AxisKind;
  yKind?: "linear" | "log";
  trend?: boolean;
}

interface At {
  run: HpRun;
  x: number;
  y: number;
}

export function ScatterChart({ runs, x, metric, xKind, yKind = "linear", trend = true, height = 260, ...rest }: ScatterProps) {
  const axes = useMemo(
    () => ({ x: makeAxis(x, runs.map((run) => run.hparams[x]), xKind), y: makeAxis(metric, runs.map((run) => run.metric), yKind) }),
    [runs, x, metric, xKind, yKind],
  );
  const points = useMemo(() => placed(runs, axes.x, axes.y, (run) => run.metric), [runs, axes]);
  const line = useMemo(() => (trend && axes.x.kind !== "category" ? trendOf(points) : undefined), [trend, axes, points]);
  const layout = useCallback(
    (width: number, tall: number, ink: Ink): Drawing => {
      const area = areaOf(width, tall);
      const spots = points.map((at) => ({ ...at, px: px(area, at.x), py: py(area, at.y) }));
      return {
        draw(pen) {
          drawAxes(pen, ink, area, axes.x, axes.y);
          for (const { run, px: left, py: top } of spots) pen.dot(left, top, 4, colourOf(hueOf(run.id), ink.theme), 0.85);
          if (line)
            pen.clipped(area, () =>
              segment(pen, ink.hint, [px(area, 0), py(area, line.offset)], [px(area, 1), py(area, line.offset + line.slope)], 1.5),
            );
        },
        points: [...spots].sort((a, b) => a.px - b.px).map(({ run, px: left, py: top }) => ({ id: run.id, x: left, y: top, text: runText(run, [x], metric) })),
      };
    },
    [points, axes, line, x, metric],
  );
  const fit = line ? ` Correlation ${line.correlation.toFixed(2)}.` : "";
  return (
    <CanvasChart
      title={`${metric} by ${x}`}
      summary={`${metric} by ${x}, ${plural(points.length, "trial")}.${fit}`}
      controls={line && <span className="hint">r = {line.correlation.toFixed(2)}</span>}
      height={height}
      layout={layout}
      table={tableOf(runs, [x], metric)}
      empty={points.length === 0 ? `No trial has a value of ${x} and of ${metric}.` : undefined}
      {...rest}
    />
  );
}

/** A scatter for each hyperparameter that differs. */
export function SliceCharts({ names, ...props }: Omit<ScatterProps, "x"> & { names?: readonly string[] }) {
  const shown = names ?? variedNames(props.runs);
  return (
    <div className={styles.slices}>
      {shown.map((name) => (
        <ScatterChart key={name} x={name} height={200} {...props} />
      ))}
    </div>
  );
}

export interface PairProps extends Shared {
  x: string;
  y: string;
  smallerIsBetter: boolean;
}

function usePair({ runs, x, y, metric, smallerIsBetter }: PairProps) {
  return useMemo(() => {
    const axes = { x: makeAxis(x, runs.map((run) => run.hparams[x])), y: makeAxis(y, runs.map((run) => run.hparams[y])) };
    const good = goodness(runs, smallerIsBetter);
    const known = runs.filter((run) => good.has(run.id));
    const points = placed(known, axes.x, axes.y, (run) => run.hparams[y]).map((at) => ({ ...at, value: good.get(at.run.id) as number }));
    return { axes, points, table: tableOf(runs, [x, y], metric) };
  }, [runs, x, y, metric, smallerIsBetter]);
}

export function HeatMapChart(props: PairProps) {
  const { x, y, metric, height = 300, runs } = props;
  const { axes, points, table } = usePair(props);
  const layout = useCallback(
    (width: number, tall: number, ink: Ink): Drawing => {
      const area = areaOf(width, tall);
      const columns = cellCount(axes.x, runs.length);
      const rows = cellCount(axes.y, runs.length);
      const cells = heatCells(points, columns, rows);
      const [w, h] = [area.width / columns, area.height / rows];
      const box = (column: number, row: number) => ({ left: area.left + column * w + 1, top: area.top + (rows - 1 - row) * h + 1, width: w - 2, height: h - 2 });
      const middle = (axis: HpAxis, cell: number, count: number) => (axis.kind === "category" ? (axis.categories[cell] ?? "") : formatNumber(axis.at((cell + 0.5) / count)));
      return {
        draw(pen) {
          for (const { column, row, mean } of cells) rectangle(pen, rampColour(mean, ink.theme), box(column, row));
          cellLabels(axes.x, columns).forEach(({ cell, label }) =>
            pen.text(area.left + (cell + 0.5) * w, area.top + area.height + 16, label, { colour: ink.text, anchor: "middle" }),
          );
          cellLabels(axes.y, rows).forEach(({ cell, label }) =>
            pen.text(area.left - 8, area.top + (rows - 0.5 - cell) * h + 4, label, { colour: ink.text, anchor: "end" }),
          );
          pen.text(area.left + area.width / 2, area.top + area.height + 36, `${x} × ${y}: darker is better`.replace("darker", ink.theme === "dark" ? "lighter" : "darker"), { colour: ink.text, anchor: "middle" });
        },
        points: cells.map(({ column, row, count }) => {
          const { left, top, width: cw, height: ch } = box(column, row);
          const inside = points.filter((at) => sameCell(at, column, row, columns, rows));
          const mean = inside.reduce((sum, at) => sum + (at.run.metric as number), 0) / Math.max(1, inside.length);
          return {
            id: `${column} ${row}`,
            x: left + cw / 2,
            y: top + ch / 2,
            text: `${x}: ${middle(axes.x, column, columns)}\n${y}: ${middle(axes.y, row, rows)}\nmean ${metric}: ${formatNumber(mean)} of ${plural(count, "trial")}`,
          };
        }),
      };
    },
    [points, axes, runs.length, x, y, metric],
  );
  return (
    <CanvasChart
      title={`${metric} by ${x} and ${y}`}
      summary={`Heat map of ${metric} by ${x} and ${y}, ${plural(points.length, "trial")}.`}
      empty={points.length === 0 ? `No trial has values of ${x}, ${y} and ${metric}.` : undefined}
      {...{ height, layout, table }}
    />
  );
}

const LEVELS = 8;

export function ContourChart(props: PairProps) {
  const { x, y, metric, height = 300, highlight, onHighlight, onOpen } = props;
  const { axes, points, table } = usePair(props);
  const lines = useMemo(() => contourLines(points, LEVELS), [points]);
  const layout = useCallback(
    (width: number, tall: number, ink: Ink): Drawing => {
      const area = areaOf(width, tall);
      return {
        draw(pen) {
          lines.forEach((shape, level) => {
            pen.fill(
              (sink) => {
                for (const polygon of shape.coordinates)
                  for (const ring of polygon) {
                    ring.forEach(([cx = 0, cy = 0], i) => {
                      const at = [px(area, cx / CONTOUR_GRID), py(area, cy / CONTOUR_GRID)] as const;
                      if (i === 0) sink.moveTo(...at);
                      else sink.lineTo(...at);
                    });
                    sink.closePath();
                  }
              },
              rampColour((level + 0.5) / LEVELS, ink.theme),
              0.55,
            );
          });
          drawAxes(pen, ink, area, axes.x, axes.y);
          for (const at of points) {
            pen.dot(px(area, at.x), py(area, at.y), 4.5, ink.ground);
            pen.dot(px(area, at.x), py(area, at.y), 3, ink.strong);
          }
        },
        points: points.map((at) => ({ id: at.run.id, x: px(area, at.x), y: py(area, at.y), text: runText(at.run, [x, y], metric) })),
      };
    },
    [points, lines, axes, x, y, metric],
  );
  const few = points.length < 4 ? `A contour needs four trials with values of ${x}, ${y} and ${metric}.` : undefined;
  return (
    <CanvasChart
      title={`${metric} over ${x} and ${y}`}
      summary={`Contour of ${metric} over ${x} and ${y}, interpolated from ${plural(points.length, "trial")}.`}
      empty={few}
      {...{ height, layout, table, highlight, onHighlight, onOpen }}
    />
  );
}

function placed(runs: readonly HpRun[], x: HpAxis, y: HpAxis, yValue: (run: HpRun) => unknown): At[] {
  return runs.flatMap((run) => {
    const at = { x: x.place(run.hparams[x.name]), y: y.place(yValue(run)) };
    return at.x === undefined || at.y === undefined ? [] : [{ run, x: at.x, y: at.y }];
  });
}

function sameCell(at: { x: number; y: number }, column: number, row: number, columns: number, rows: number): boolean {
  const cut = (part: number, size: number) => Math.max(0, Math.min(size - 1, Math.floor(part * size)));
  return cut(at.x, columns) === column && cut(at.y, rows) === row;
}

function cellLabels(axis: HpAxis, cells: number): { cell: number; label: string }[] {
  if (axis.kind === "category") return axis.categories.map((label, cell) => ({ cell, label: label.slice(0, 9) }));
  return axis.ticks.map(({ place, label }) => ({ cell: place * cells - 0.5, label }));
}

export function runText(run: HpRun, names: readonly string[], metric: string): string {
  return [run.label, ...names.map((name) => `${name}: ${textOf(run.hparams[name])}`), `${metric}: ${formatNumber(run.metric)}`].join("\n");
}

export function tableOf(runs: readonly HpRun[], names: readonly string[], metric: string) {
  return {
    columns: ["Trial", ...names, metric],
    rows: runs.map((run) => [run.label, ...names.map((name) => textOf(run.hparams[name])), run.metric]),
  };
}
