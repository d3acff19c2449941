/**
 * The course of a search: what mattered, how the best value improved, which runs went on, and when
 * each of them ran.
 *
 *     <ImportanceChart items={items} count={48} metric="validation_loss" />
 *     <HistoryChart runs={runs} metric="validation_loss" smallerIsBetter />
 *     <RungChart title="Rungs" rungs={bracket.rungs} unit="batches" metric="validation_loss" />
 *     <TimelineChart spans={spans} now={Date.now()} />
 */
import { useCallback, useMemo } from "react";

import type { Rung } from "@/data/experiments/rungs";
import { formatNumber, formatPercent, plural } from "@/data/format/numbers";
import { formatDuration, formatInstant } from "@/data/format/times";
import { stateFamily, stateLabel } from "@/data/states";

import { xLabels, xTicks } from "../math/ticks";
import { colourOf, hueOf } from "../palette";
import type { Ink } from "../plot/theme";
import { makeAxis, type HpRun } from "./axis";
import { CanvasChart, type Drawing } from "./CanvasChart";
import { areaOf, cut, drawAxes, px, py, rectangle, segment } from "./frame";
import { bestSoFar, lanesOf, rungColumns, type RungColumn, type Span } from "./layout";

interface Common {
  height?: number;
  highlight?: string | undefined;
  onHighlight?(id: string | undefined): void;
  onOpen?(id: string): void;
}

export interface Importance {
  name: string;
  /** From 0 to 1. */
  importance: number;
  /** Rank correlation with the metric, -1 to 1; undefined for categories. */
  correlation: number | undefined;
}

const ENOUGH_RUNS = 30;
const BAR = 28;

export function ImportanceChart({ items, count, metric, ...rest }: Omit<Common, "height"> & { items: readonly Importance[]; count: number; metric: string }) {
  const sorted = useMemo(() => [...items].sort((a, b) => b.importance - a.importance), [items]);
  const layout = useCallback(
    (width: number, _height: number, ink: Ink): Drawing => {
      const left = Math.min(180, width * 0.34);
      const room = Math.max(10, width - left - 160);
      const middle = (i: number) => 14 + i * BAR;
      return {
        draw(pen) {
          sorted.forEach(({ name, importance, correlation }, i) => {
            const y = middle(i);
            pen.text(left - 8, y + 4, cut(name, Math.floor(left / 7.5)), { colour: ink.strong, anchor: "end" });
            rectangle(pen, ink.accent, { left, top: y - 8, width: Math.max(1, room * importance), height: 16 });
            const sign = correlation === undefined ? "" : `, r ${correlation > 0 ? "+" : ""}${correlation.toFixed(2)}`;
            pen.text(left + room * importance + 8, y + 4, formatPercent(importance) + sign, { colour: ink.text });
          });
        },
        points: sorted.map(({ name, importance, correlation }, i) => ({
          id: name,
          x: left + 4,
          y: middle(i),
          text: `${name}\nimportance ${formatPercent(importance)}\nrank correlation ${correlation === undefined ? "–" : correlation.toFixed(2)}`,
        })),
      };
    },
    [sorted],
  );
  return (
    <CanvasChart
      title={`Importance for ${metric}`}
      summary={`Importance for ${metric} from ${plural(count, "trial")}: ${sorted.slice(0, 5).map(({ name, importance }) => `${name} ${formatPercent(importance)}`).join(", ")}.`}
      controls={<span className="hint">{count < ENOUGH_RUNS ? `${plural(count, "trial")}: few, the order may be chance` : plural(count, "trial")}</span>}
      height={Math.max(80, sorted.length * BAR + 8)}
      layout={layout}
      table={{ columns: ["Hyperparameter", "Importance", "Rank correlation"], rows: sorted.map((each) => [each.name, each.importance, each.correlation]) }}
      empty={sorted.length === 0 ? "No hyperparameter differs between the trials." : undefined}
      {...rest}
    />
  );
}

/** The runs in the order in which they were created. */
export function HistoryChart({ runs, metric, smallerIsBetter, height = 260, ...rest }: Common & { runs: readonly HpRun[]; metric: string; smallerIsBetter: boolean }) {
  const best = useMemo(() => bestSoFar(runs.map((run) => run.metric), smallerIsBetter), [runs, smallerIsBetter]);
  const axes = useMemo(
    () => ({ x: makeAxis("Trial of the search", [1, Math.max(2, runs.length)], "linear"), y: makeAxis(metric, runs.map((run) => run.metric), "linear") }),
    [runs, metric],
  );
  const layout = useCallback(
    (width: number, tall: number, ink: Ink): Drawing => {
      const area = areaOf(width, tall);
      const x = (i: number) => px(area, axes.x.place(i + 1) ?? 0);
      const y = (value: number | undefined) => py(area, axes.y.place(value) ?? 0);
      const known = runs.flatMap((run, i) => (run.metric !== undefined && Number.isFinite(run.metric) ? [{ run, i }] : []));
      return {
        draw(pen) {
          drawAxes(pen, ink, area, axes.x, axes.y);
          pen.stroke(
            (sink) => {
              let last: number | undefined;
              best.forEach((value, i) => {
                if (value === undefined) return;
                if (last === undefined) sink.moveTo(x(i), y(value));
                else {
                  sink.lineTo(x(i), y(last));
                  sink.lineTo(x(i), y(value));
                }
                last = value;
              });
            },
            { colour: ink.accent, width: 2 },
          );
          for (const { run, i } of known) pen.dot(x(i), y(run.metric), 3.5, colourOf(hueOf(run.id), ink.theme), 0.85);
        },
        points: known.map(({ run, i }) => ({
          id: run.id,
          x: x(i),
          y: y(run.metric),
          text: `${run.label}\n${metric}: ${formatNumber(run.metric)}\nbest so far: ${formatNumber(best[i])}`,
        })),
      };
    },
    [runs, best, axes, metric],
  );
  const last = best[best.length - 1];
  return (
    <CanvasChart
      title={`Best ${metric} so far`}
      summary={`${plural(runs.length, "trial")}; the best ${metric} is ${formatNumber(last)}.`}
      table={{ columns: ["Trial", metric, "Best so far"], rows: runs.map((run, i) => [run.label, run.metric, best[i]]) }}
      empty={last === undefined ? `No trial has a value of ${metric} yet.` : undefined}
      {...{ height, layout }}
      {...rest}
    />
  );
}

/** The rungs of one bracket: how many trials reached each, and what became of them. */
export function RungChart({ title, rungs, unit, metric, height = 240 }: { title: string; rungs: readonly Rung[]; unit: string; metric: string; height?: number }) {
  const columns = useMemo(() => rungColumns(rungs), [rungs]);
  const layout = useCallback(
    (width: number, tall: number, ink: Ink): Drawing => {
      const [top, bottom] = [24, tall - 40];
      const most = Math.max(1, ...columns.map((each) => each.reached + each.failed + each.training));
      const step = (width - 24) / Math.max(1, columns.length);
      const bar = Math.min(110, step * 0.6);
      const x = (i: number) => 12 + i * step + (step - bar) / 2;
      const h = (count: number) => (count / most) * (bottom - top);
      return {
        draw(pen) {
          columns.forEach((column, i) => {
            const next = columns[i + 1];
            if (next && column.passed > 0)
              pen.fill(
                (sink) => {
                  sink.moveTo(x(i) + bar, bottom);
                  sink.lineTo(x(i) + bar, bottom - h(column.passed));
                  sink.lineTo(x(i + 1), bottom - h(next.reached));
                  sink.lineTo(x(i + 1), bottom);
                  sink.closePath();
                },
                familyColour("done"),
                0.22,
              );
            let at = bottom;
            for (const { count, word, family } of partsOf(column)) {
              rectangle(pen, familyColour(family), { left: x(i), top: at - h(count), width: bar, height: Math.max(1, h(count) - 1) });
              if (h(count) > 16 && bar > 76) pen.text(x(i) + bar / 2, at - h(count) / 2 + 4, `${count} ${word}`, { colour: ink.ground, anchor: "middle" });
              at -= h(count);
            }
            pen.text(x(i) + bar / 2, at - 6, `${column.reached} reached`, { colour: ink.strong, anchor: "middle", bold: true });
            pen.text(x(i) + bar / 2, bottom + 16, `Rung ${i}`, { colour: ink.text, anchor: "middle" });
            pen.text(x(i) + bar / 2, bottom + 32, cut(`${formatNumber(column.length)} ${unit}`, Math.floor(step / 7)), { colour: ink.hint, anchor: "middle" });
          });
        },
        points: columns.map((column, i) => ({ id: String(i), x: x(i) + bar / 2, y: bottom - h(column.reached) / 2, text: rungText(column, i, unit, metric) })),
      };
    },
    [columns, unit, metric],
  );
  return (
    <CanvasChart
      title={title}
      summary={`${plural(columns.length, "rung")}: ${columns.map((each, i) => `${each.reached} reached rung ${i}`).join(", ")}.`}
      table={{
        columns: ["Rung", unit, "Training", "Failed", "Reached", "Stopped", "Passed", `Best ${metric}`, "Passes with"],
        rows: columns.map((c, i) => [i, c.length, c.training, c.failed, c.reached, c.stopped, c.passed, c.best ?? undefined, c.passes ?? undefined]),
      }}
      {...{ height, layout }}
    />
  );
}

/** From the bottom of a column to its top. */
function partsOf({ isTop, passed, stopped, failed, training }: RungColumn) {
  return [
    { count: passed, word: isTop ? "finished" : "passed", family: "done" },
    { count: stopped, word: "stopped", family: "ended" },
    { count: failed, word: "failed", family: "failed" },
    { count: training, word: "training", family: "running" },
  ].filter(({ count }) => count > 0);
}

function rungText(column: RungColumn, rung: number, unit: string, metric: string): string {
  const { length, reached, best, passes } = column;
  const lines = [`Rung ${rung}, at ${formatNumber(length)} ${unit}: ${reached} reached`, ...partsOf(column).map(({ count, word }) => `${count} ${word}`)];
  if (best !== null) lines.push(`best ${metric}: ${formatNumber(best)}`);
  if (passes !== null) lines.push(`passes now with ${formatNumber(passes)} or better`);
  return lines.join("\n");
}

const LANE = 20;

/** When each run ran; a lane is a place that one run at a time had. */
export function TimelineChart({ spans, now, ...rest }: Omit<Common, "height"> & { spans: readonly Span[]; now: number }) {
  const placed = useMemo(() => lanesOf(spans, now), [spans, now]);
  const lanes = placed.reduce((most, { lane }) => Math.max(most, lane + 1), 0);
  const layout = useCallback(
    (width: number, tall: number, ink: Ink): Drawing => {
      const from = Math.min(...placed.map(({ start }) => start)) / 1000;
      const to = Math.max(from + 1, ...placed.map(({ end }) => (end ?? now) / 1000));
      const [left, right, bottom] = [12, width - 12, tall - 24];
      const x = (seconds: number) => left + ((seconds - from) / (to - from)) * (right - left);
      const ticks = xTicks([from, to], "time", Math.max(2, Math.floor(width / 120)));
      const labels = xLabels(ticks, "time");
      const boxes = placed.map((span) => ({
        span,
        left: x(span.start / 1000),
        top: 4 + span.lane * LANE,
        width: Math.max(2, x((span.end ?? now) / 1000) - x(span.start / 1000)),
        height: LANE - 4,
      }));
      return {
        draw(pen) {
          ticks.forEach((tick, i) => {
            segment(pen, ink.line, [x(tick), 0], [x(tick), bottom]);
            const anchor = x(tick) < 50 ? "start" : x(tick) > width - 40 ? "end" : "middle";
            pen.text(x(tick), bottom + 16, labels[i] as string, { colour: ink.text, anchor });
          });
          for (const { span, ...box } of boxes) {
            rectangle(pen, familyColour(stateFamily(span.state), true), box);
            rectangle(pen, familyColour(stateFamily(span.state)), { ...box, width: Math.min(3, box.width) });
            if (box.width > 46) pen.text(box.left + 7, box.top + 12, cut(span.label, Math.floor((box.width - 10) / 7)), { colour: ink.strong, size: 12 });
          }
        },
        points: boxes.map(({ span, ...box }) => ({
          id: span.id,
          x: box.left + Math.min(box.width / 2, 20),
          y: box.top + box.height / 2,
          text: spanText(span, now),
        })),
      };
    },
    [placed, now],
  );
  return (
    <CanvasChart
      title="Timeline"
      summary={`${plural(placed.length, "trial")}, at most ${lanes} at a time.`}
      height={Math.max(80, lanes * LANE + 32)}
      layout={layout}
      table={{
        columns: ["Trial", "State", "Start", "Duration"],
        rows: placed.map((span) => [span.label, stateLabel(span.state), formatInstant(new Date(span.start).toISOString()), formatDuration(((span.end ?? now) - span.start) / 1000)]),
      }}
      empty={placed.length === 0 ? "No trial has started yet." : undefined}
      {...rest}
    />
  );
}

function spanText(span: Span, now: number): string {
  const duration = formatDuration(((span.end ?? now) - span.start) / 1000);
  return `${span.label}\n${stateLabel(span.state)}, ${duration}\nsince ${formatInstant(new Date(span.start).toISOString())}`;
}

/** The colour of a family of states. */
function familyColour(family: string, soft = false): string {
  const name = `--${family === "stopping" ? "ended" : family}${soft ? "-soft" : ""}`;
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
