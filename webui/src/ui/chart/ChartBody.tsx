/** Plot, cursor, legend or table of a chart: all but its head. */
import { useCallback, useEffect, useId, useMemo, useRef, useState } from "react";

import { Button } from "../button/Button";
import { later } from "../later";
import styles from "./Chart.module.css";
import { Legend } from "./Legend";
import type { LineChartProps } from "./LineChart";
import { hitsAt, tooltipRows } from "./math/nearest";
import { LIMIT, widen, xExtent, yRangeOf } from "./math/range";
import { spokenPoint, summaryOf } from "./math/summary";
import { hidesAll } from "./math/trace";
import type { OverlayState } from "./plot/overlay";
import type { Pointer, PlotState } from "./plot/Plot";
import { useTheme } from "./plot/theme";
import { useChartSync, useSharedRange } from "./sync";
import { HoverStore, Tooltip } from "./Tooltip";
import { axisName, type ChartSettings, type Mark, type Range, type XAxis } from "./types";
import { KEYS_HELP, useChartKeys } from "./useChartKeys";
import { useTraces } from "./useTraces";
import { useWidth } from "./useWidth";

const DataView = later(() => import("./DataView"));
const Plot = later(() => import("./plot/Plot"), { fallback: <div className={styles.nothing} data-loading /> });

/** What the chart shows now, for exports. */
export interface View {
  state: PlotState;
  width: number;
  height: number;
  reset(): void;
}

type BodyProps = LineChartProps & {
  x: XAxis;
  settings: ChartSettings;
  onSettings(settings: ChartSettings): void;
  marks: readonly Mark[];
  height: number;
  table: boolean;
  onView?(view: View): void;
};

/** Pixels around the cursor in which a point or a mark counts as near. */
const REACH = 24;

export function ChartBody(props: BodyProps) {
  const { title, series, x: axis, marks, settings, height, selected, onView } = props;
  const theme = useTheme();
  const sync = useChartSync();
  const [source] = useState(() => Symbol(title));
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() => new Set());
  const [highlighted, setHighlighted] = useState<string>();
  const [box, setBox] = useState<Range>();
  const { traces, scale } = useTraces(series, settings, theme, selected);
  const shown = useMemo(() => traces.filter((each) => !hidden.has(each.id)), [traces, hidden]);
  const limits = useMemo(() => xExtent(traces.map((each) => each.x)), [traces]) ?? EMPTY;
  const shared = useSharedRange(sync, axis);
  const x = useMemo(() => (shared && shared[0] < shared[1] ? widen(...shared) : limits), [shared, limits]);
  useEffect(() => setBox(undefined), [settings.yScale, settings.yRange, settings.yMin, settings.yMax]);
  const y = useMemo(() => box ?? yRangeOf(shown, x, scale, settings), [box, shown, x, scale, settings]);
  const state = useMemo<PlotState>(() => {
    const clipped = settings.yRange === "clip" || settings.yRange === "manual" || y[1] - y[0] > LIMIT;
    return { scene: { traces: shown, marks, bands: settings.bands, clipped }, axis, scale, x, limits, y, theme };
  }, [shown, marks, settings.bands, settings.yRange, axis, scale, x, limits, y, theme]);

  const onZoom = useCallback(
    (nextX: Range | undefined, nextY?: Range) => {
      if (nextX || !nextY) sync.setRange(axis, nextX);
      setBox((old) => nextY ?? (nextX ? old : undefined));
    },
    [sync, axis],
  );
  const [area, width] = useWidth();
  useEffect(() => {
    if (width > 0 && shown.length > 0) onView?.({ state, width, height, reset: () => onZoom(undefined) });
  }, [onView, state, width, height, shown.length, onZoom]);

  const summary = useMemo(() => summaryOf(title, shown, axis), [title, shown, axis]);
  const hasPoints = traces.some((each) => each.x.length > 0);
  const isDrawn = hasPoints && !hidesAll(shown);
  const marked = props.highlight ?? highlighted;
  return (
    <div className={styles.body}>
      {props.table ? (
        <DataView title={title} traces={shown} axis={axis} within={x} />
      ) : (
        <div ref={area} className={styles.area} style={{ height }}>
          {isDrawn ? (
            width > 0 && <PlotArea {...{ title, state, summary, source, width, height, onZoom }} highlight={marked} />
          ) : (
            <Nothing {...props} isHidden={hasPoints} />
          )}
        </div>
      )}
      {!props.bare && hasPoints && (
        <Legend
          traces={traces}
          hidden={hidden}
          onHidden={setHidden}
          onHighlight={(id) => {
            setHighlighted(id);
            props.onHighlight?.(id);
          }}
        />
      )}
    </div>
  );
}

const EMPTY: Range = [0, 1];

function Nothing({ loading, empty, series, x, settings, onSettings, isHidden }: BodyProps & { isHidden: boolean }) {
  if (isHidden)
    return (
      <div className={styles.nothing}>
        <p>No value is above 0, and a log scale shows no others.</p>
        <Button small onClick={() => onSettings({ ...settings, yScale: "symlog" })}>
          Use the symlog scale
        </Button>
      </div>
    );
  if (loading) return <div className={styles.nothing} role="status" aria-label="Loading the chart" data-loading />;
  const odd = series.reduce((sum, each) => sum + (each.nonFiniteCount ?? 0), 0);
  const reason = series.some((each) => (each.count ?? 0) > 0)
    ? `No value has the axis ${axisName(x)}.`
    : odd > 0
      ? `No value is a finite number: ${odd} not finite.`
      : "No values yet.";
  return <div className={styles.nothing}>{empty ?? reason}</div>;
}

function PlotArea({
  title,
  state,
  summary,
  source,
  width,
  height,
  highlight,
  onZoom,
}: {
  title: string;
  state: PlotState;
  summary: string;
  source: symbol;
  width: number;
  height: number;
  highlight: string | undefined;
  onZoom(x: Range | undefined, y?: Range): void;
}) {
  const sync = useChartSync();
  const id = useId();
  const [hover] = useState(() => new HoverStore());
  const repaint = useRef<(() => void) | null>(null);
  const { traces } = state.scene;
  const keys = useChartKeys({ traces, x: state.x, limits: state.limits, onZoom });
  const pixel = (state.x[1] - state.x[0]) / Math.max(1, width);
  const overlay = (): OverlayState => {
    const cursor = sync.cursor?.axis === state.axis ? sync.cursor : undefined;
    const hits = cursor ? hitsAt(traces, cursor.x, REACH * pixel) : [];
    const near = hover.current && tooltipRows(hover.current.hits, hover.current.pointer.y).nearest?.trace;
    const named = traces.find((each) => each.id === highlight);
    return { hits, highlight: named ?? (traces.length > 1 ? near : undefined), point: keys.point };
  };
  const onPointer = (pointer: Pointer | undefined) => {
    hover.set(
      pointer && {
        pointer,
        hits: hitsAt(traces, pointer.x, REACH * pixel),
        marks: state.scene.marks.filter((mark) => isNear(mark, pointer)),
      },
    );
    repaint.current?.();
  };
  return (
    <div
      className={styles.plot}
      role="application"
      aria-roledescription="chart"
      aria-label={title}
      aria-describedby={id}
      tabIndex={0}
      onKeyDown={keys.onKeyDown}
      onBlur={keys.clear}
    >
      <div className={styles.canvas} role="img" aria-label={summary}>
        <Plot {...{ state, sync, source, width, height, overlay, repaint, onPointer, onZoom }} />
      </div>
      <Tooltip store={hover} axis={state.axis} width={width} />
      <span id={id} className="visually-hidden">
        {KEYS_HELP}
      </span>
      <div aria-live="polite" className={keys.point ? styles.spoken : "visually-hidden"}>
        {keys.point ? spokenPoint(keys.point, state.axis) : ""}
      </div>
    </div>
  );
}

function isNear(mark: Mark, pointer: Pointer): boolean {
  if (mark.xEnd !== undefined && pointer.x >= mark.x && pointer.x <= mark.xEnd) return true;
  return Math.abs(mark.x - pointer.x) <= 8 * pointer.pixel;
}
