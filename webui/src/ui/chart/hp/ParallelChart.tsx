/**
 * Parallel coordinates: one axis a hyperparameter, the metric last, a line a run.
 *
 *     <ParallelChart runs={runs} metric="validation_loss" smallerIsBetter onSelection={setIds} />
 *
 * A drag along an axis keeps the runs inside; several axes may have such a brush. The head of an
 * axis opens the same by keyboard: range, kind of axis, order.
 */
import { useCallback, useEffect, useMemo, useState } from "react";

import { formatNumber, plural } from "@/data/format/numbers";

import { Button } from "../../button/Button";
import { Checkbox, Segments, TextField } from "../../field/Field";
import { Popover } from "../../overlay/Popover";
import { rampColour } from "../palette";
import type { Ink } from "../plot/theme";
import { goodness, makeAxis, variedNames, type AxisKind, type HpAxis, type HpRun } from "./axis";
import { CanvasChart, type Drawing } from "./CanvasChart";
import { cut, rectangle, segment, thinned } from "./frame";
import styles from "./Hp.module.css";
import { brushed, reordered, type Brush } from "./layout";
import { runText, tableOf } from "./PairCharts";

export interface ParallelProps {
  runs: readonly HpRun[];
  metric: string;
  smallerIsBetter: boolean;
  names?: readonly string[];
  height?: number;
  highlight?: string | undefined;
  onHighlight?(id: string | undefined): void;
  onOpen?(id: string): void;
  /** The runs inside all brushes; undefined without a brush. */
  onSelection?(ids: ReadonlySet<string> | undefined): void;
}

const TOP = 44;
const BOTTOM = 14;
const SIDE = 70;
/** Past this distance from an axis a drag brushes nothing. */
const REACH = 40;

export function ParallelChart(props: ParallelProps) {
  const { runs, metric, smallerIsBetter, height = 340, onSelection } = props;
  const varied = useMemo(() => props.names ?? variedNames(runs), [props.names, runs]);
  const [order, setOrder] = useState<readonly string[]>([]);
  const [kinds, setKinds] = useState<Readonly<Record<string, AxisKind>>>({});
  const [brushes, setBrushes] = useState<Readonly<Record<string, Brush>>>({});
  const names = useMemo(() => [...order.filter((name) => varied.includes(name)), ...varied.filter((name) => !order.includes(name))], [order, varied]);
  const axes = useMemo(
    () => [
      ...names.map((name) => makeAxis(name, runs.map((run) => run.hparams[name]), kinds[name])),
      makeAxis(metric, runs.map((run) => run.metric), kinds[metric] ?? "linear"),
    ],
    [names, runs, metric, kinds],
  );
  const valueOf = useCallback((run: HpRun, axis: HpAxis) => (axis === axes[axes.length - 1] ? run.metric : run.hparams[axis.name]), [axes]);
  const inside = useMemo(() => brushed(runs, axes, brushes, valueOf), [runs, axes, brushes, valueOf]);
  const filtering = axes.some((axis) => brushes[axis.name]);
  useEffect(() => onSelection?.(filtering ? inside : undefined), [onSelection, filtering, inside]);

  const layout = useCallback(
    (width: number, tall: number, ink: Ink): Drawing => {
      const good = goodness(runs, smallerIsBetter);
      const lines = runs.map((run) => ({
        run,
        good: good.get(run.id),
        spots: axes.flatMap((axis, i) => {
          const place = axis.place(valueOf(run, axis));
          return place === undefined ? [] : [[axisX(i, axes.length, width), placeY(place, tall)] as const];
        }),
      }));
      // The best lines are drawn last, over the others.
      const shown = lines.filter(({ run }) => inside.has(run.id)).sort((a, b) => (a.good ?? -1) - (b.good ?? -1));
      return {
        draw(pen) {
          const path = (spots: readonly (readonly [number, number])[], colour: string, alpha: number) =>
            pen.stroke((sink) => spots.forEach(([x, y], i) => (i === 0 ? sink.moveTo(x, y) : sink.lineTo(x, y))), { colour, width: 1.25, alpha });
          for (const { run, spots } of lines) if (!inside.has(run.id)) path(spots, ink.muted, 0.6);
          for (const line of shown) path(line.spots, line.good === undefined ? ink.hint : rampColour(line.good, ink.theme), 0.85);
          axes.forEach((axis, i) => {
            const x = axisX(i, axes.length, width);
            segment(pen, ink.hint, [x, TOP], [x, tall - BOTTOM]);
            for (const { place, label } of thinned(axis.ticks, tall / 26)) {
              const [text, y] = [cut(label, 9), placeY(place, tall)];
              const wide = text.length * 7 + 4;
              // The lines pass under the labels, not through them.
              rectangle(pen, ink.ground, { left: x - 6 - wide, top: y - 8, width: wide + 2, height: 16 }, 0.85);
              pen.text(x - 6, y + 4, text, { colour: ink.text, anchor: "end" });
            }
            const brush = brushes[axis.name];
            if (!brush) return;
            const [top, bottom] = [placeY(brush.to, tall), placeY(brush.from, tall)];
            rectangle(pen, ink.accent, { left: x - 5, top: top - 2, width: 10, height: bottom - top + 4 }, 0.35);
          });
        },
        points: shown.reverse().flatMap(({ run, spots }) => {
          const last = spots[spots.length - 1];
          return last ? [{ id: run.id, x: last[0], y: last[1], text: runText(run, names, metric) }] : [];
        }),
      };
    },
    [runs, axes, brushes, inside, names, metric, smallerIsBetter, valueOf],
  );
  const onDrag = (from: readonly [number, number], to: readonly [number, number], width: number) => {
    const at = axes.findIndex((_, i) => Math.abs(axisX(i, axes.length, width) - from[0]) < REACH);
    const axis = axes[at];
    if (!axis || Math.abs(to[1] - from[1]) < 4) return;
    const [a, b] = [yPlace(from[1], height), yPlace(to[1], height)];
    setBrushes({ ...brushes, [axis.name]: { from: Math.min(a, b), to: Math.max(a, b) } });
  };
  const setBrush = (name: string, brush: Brush | undefined) => {
    const next = { ...brushes };
    if (brush) next[name] = brush;
    else delete next[name];
    setBrushes(next);
  };
  return (
    <CanvasChart
      title="Parallel coordinates"
      summary={`Parallel coordinates of ${axes.map((axis) => axis.name).join(", ")}: ${inside.size} of ${plural(runs.length, "trial")} shown.`}
      controls={
        filtering && (
          <>
            <span className="hint" role="status">{`${inside.size} of ${plural(runs.length, "trial")}`}</span>
            <Button small look="quiet" onClick={() => setBrushes({})}>
              Show all
            </Button>
          </>
        )
      }
      empty={runs.length === 0 ? "The search has no trials yet." : varied.length === 0 ? "No hyperparameter differs between the trials." : undefined}
      table={tableOf(runs.filter((run) => inside.has(run.id)), names, metric)}
      {...{ height, layout, onDrag }}
      highlight={props.highlight}
      onHighlight={props.onHighlight}
      onOpen={props.onOpen}
    >
      {(width) =>
        axes.map((axis, i) => (
          <div key={axis.name} className={styles.axisHead} style={{ left: axisX(i, axes.length, width), maxWidth: spacing(axes.length, width) }}>
            <AxisHead
              axis={axis}
              last={i === axes.length - 1}
              brush={brushes[axis.name]}
              onBrush={(brush) => setBrush(axis.name, brush)}
              onKind={(kind) => setKinds({ ...kinds, [axis.name]: kind })}
              onMove={(step) => setOrder(reordered(names, axis.name, step))}
            />
          </div>
        ))
      }
    </CanvasChart>
  );
}

function spacing(count: number, width: number): number {
  return Math.max(40, (width - 2 * SIDE) / Math.max(1, count - 1) - 6);
}

function axisX(i: number, count: number, width: number): number {
  return SIDE + (count > 1 ? (i / (count - 1)) * (width - 2 * SIDE) : 0);
}

function placeY(place: number, height: number): number {
  return height - BOTTOM - place * (height - TOP - BOTTOM);
}

function yPlace(y: number, height: number): number {
  return Math.max(0, Math.min(1, (height - BOTTOM - y) / (height - TOP - BOTTOM)));
}

function AxisHead({
  axis,
  last,
  brush,
  onBrush,
  onKind,
  onMove,
}: {
  axis: HpAxis;
  last: boolean;
  brush: Brush | undefined;
  onBrush(brush: Brush | undefined): void;
  onKind(kind: AxisKind): void;
  onMove(step: number): void;
}) {
  return (
    <Popover
      label={`Axis ${axis.name}`}
      trigger={
        <Button small look="quiet" title={axis.name} aria-pressed={brush !== undefined}>
          <span className="truncate">{axis.name}</span>
        </Button>
      }
    >
      <div className={styles.form}>
        {axis.kind === "category" ? (
          <Categories {...{ axis, brush, onBrush }} />
        ) : (
          <div className={styles.pair}>
            <End label="From" axis={axis} place={brush?.from} onPlace={(from) => onBrush({ from: Math.min(from ?? 0, brush?.to ?? 1), to: brush?.to ?? 1 })} />
            <End label="To" axis={axis} place={brush?.to} onPlace={(to) => onBrush({ from: brush?.from ?? 0, to: Math.max(to ?? 1, brush?.from ?? 0) })} />
          </div>
        )}
        {axis.kind !== "category" && (
          <Segments<"linear" | "log">
            label="Kind of the axis"
            value={axis.kind}
            options={[
              { value: "linear", label: "Linear" },
              { value: "log", label: "Log" },
            ]}
            onValue={onKind}
          />
        )}
        <div className="row">
          {!last && (
            <>
              <Button small onClick={() => onMove(-1)}>
                Move left
              </Button>
              <Button small onClick={() => onMove(1)}>
                Move right
              </Button>
            </>
          )}
          <Button small disabledReason={brush ? undefined : "The axis has no filter."} onClick={() => onBrush(undefined)}>
            Show all
          </Button>
        </div>
      </div>
    </Popover>
  );
}

function End({ label, axis, place, onPlace }: { label: string; axis: HpAxis; place: number | undefined; onPlace(place: number | undefined): void }) {
  return (
    <TextField
      label={label}
      inputMode="decimal"
      placeholder={place === undefined ? "all" : formatNumber(axis.at(place))}
      onChange={(event) => {
        const text = event.target.value.trim();
        if (text === "") onPlace(undefined);
        else onPlace(axis.place(Number(text)));
      }}
    />
  );
}

/** Neighbouring categories: a brush is one stretch of an axis. */
function Categories({ axis, brush, onBrush }: { axis: HpAxis; brush: Brush | undefined; onBrush(brush: Brush | undefined): void }) {
  const inside = (place: number) => !brush || (place >= brush.from - 1e-9 && place <= brush.to + 1e-9);
  return (
    <>
      {axis.ticks.map(({ place, label }) => (
        <Checkbox
          key={label}
          label={label}
          checked={inside(place)}
          onValue={(checked) => {
            if (!brush) onBrush({ from: place, to: place });
            else if (checked) onBrush({ from: Math.min(brush.from, place), to: Math.max(brush.to, place) });
            else onBrush(undefined);
          }}
        />
      ))}
    </>
  );
}
