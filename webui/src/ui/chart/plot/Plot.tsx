/** The plotting area over uPlot: axes, cursor, selection. Loaded when the first chart is shown. */
import { useEffect, useLayoutEffect, useRef, type Ref } from "react";
import uPlot from "uplot";

import "uplot/dist/uPlot.min.css";

import type { Theme } from "../palette";
import { zoomed } from "../math/range";
import type { Scale } from "../math/scales";
import { distinctLabels, xLabels, xTicks, yTicks } from "../math/ticks";
import type { ChartSync } from "../sync";
import { axisName, type Range, type XAxis } from "../types";
import { drawScene, type Scene } from "./draw";
import { drawOverlay, type OverlayState } from "./overlay";
import type { Frame } from "./paths";
import { CanvasPen } from "./pen";
import { inkOf } from "./theme";

export interface PlotState {
  scene: Scene;
  axis: XAxis;
  scale: Scale;
  x: Range;
  /** The whole range of the data, the limit of zooming out. */
  limits: Range;
  y: Range;
  theme: Theme;
}

/** Where the pointer is: in the axes' spaces and in CSS px of the plotting area. */
export interface Pointer {
  x: number;
  y: number;
  left: number;
  top: number;
  /** The distance on x of one pixel. */
  pixel: number;
}

export interface PlotProps {
  state: PlotState;
  sync: ChartSync;
  source: symbol;
  width: number;
  height: number;
  overlay: () => OverlayState;
  /** Set to a function that repaints the overlay. */
  repaint: Ref<(() => void) | null>;
  onPointer(pointer: Pointer | undefined): void;
  onZoom(x: Range | undefined, y: Range | undefined): void;
}

interface Live extends PlotProps {
  canvas: HTMLCanvasElement;
}

/** The area that the pointer is over: a cursor that another chart sets is not the pointer's. */
const hovered = new WeakSet<HTMLElement>();

export default function Plot(props: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const live = useRef<Live>(undefined);
  const drawn = useRef<PlotState>(undefined);
  const { state, width, height, sync, source } = props;

  useLayoutEffect(() => {
    const canvas = live.current?.canvas ?? document.createElement("canvas");
    live.current = { ...props, canvas };
    if (!plot.current) plot.current = create(host.current as HTMLDivElement, live as { current: Live });
    const u = plot.current;
    if (u.width !== width || u.height !== height) u.setSize({ width, height });
    // A render for the cursor, the legend or the menu keeps the picture.
    if (drawn.current !== state) u.setData([[state.x[0], state.x[1]], [null, null]] as uPlot.AlignedData, true);
    drawn.current = state;
    const paint = () => paintOverlay(u, live.current as Live);
    if (props.repaint && typeof props.repaint === "object") props.repaint.current = paint;
    paint();
  });

  useEffect(
    () =>
      sync.watchCursor(() => {
        const u = plot.current;
        const current = live.current;
        if (!u || !current) return;
        const { cursor } = sync;
        if (cursor?.source === source) return;
        const shown = cursor && cursor.axis === current.state.axis ? cursor.x : undefined;
        const left = shown === undefined ? -10 : u.valToPos(shown, "x");
        u.setCursor({ left, top: shown === undefined ? -10 : 0 }, false);
        paintOverlay(u, current);
      }),
    [sync, source],
  );

  useEffect(
    () => () => {
      plot.current?.destroy();
      plot.current = undefined;
      drawn.current = undefined;
      live.current = undefined;
    },
    [],
  );
  return <div ref={host} />;
}

function create(host: HTMLElement, live: { current: Live }): uPlot {
  const now = () => live.current;
  const ink = () => inkOf(now().state.theme);
  const axis = (): uPlot.Axis => ({
    stroke: () => ink().text,
    font: `12px ${ink().family}`,
    grid: { stroke: () => ink().line, width: 1 },
    ticks: { stroke: () => ink().line, width: 1, size: 4 },
  });
  const u: uPlot = new uPlot(
    {
      width: now().width,
      height: now().height,
      legend: { show: false },
      padding: [10, 12, 0, 0],
      scales: {
        x: { time: false, range: () => [...now().state.x] as uPlot.Range.MinMax },
        y: { range: () => [...now().state.y] as uPlot.Range.MinMax },
      },
      series: [{}, { show: true, points: { show: false } }],
      axes: [xAxis(axis(), now), yAxis(axis(), now)],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: 4 },
        bind: {
          mousedown: (self, _target, handler) => (event) => {
            if (self.cursor.drag) self.cursor.drag.y = event.shiftKey;
            return handler(event);
          },
          dblclick: () => () => {
            now().onZoom(undefined, undefined);
            return null;
          },
        },
      },
      hooks: {
        draw: [(self) => draw(self, now(), ink())],
        setCursor: [(self) => pointed(self, now())],
        setSelect: [(self) => selected(self, now())],
        ready: [
          (self) => {
            now().canvas.style.cssText = "position:absolute;inset:0;width:100%;height:100%;pointer-events:none";
            self.over.append(now().canvas);
            self.over.addEventListener("mouseenter", () => hovered.add(self.over));
            self.over.addEventListener("mouseleave", () => hovered.delete(self.over));
            self.over.addEventListener("wheel", (event) => wheeled(self, now(), event), { passive: false });
          },
        ],
      },
    },
    [[0, 1], [null, null]] as uPlot.AlignedData,
    host,
  );
  return u;
}

/**
 * The ticks are our own, but uPlot hides an axis for which it knows no step: below 5 it knows
 * powers of ten.
 */
const anyStep: uPlot.Axis.Incrs = (_u, _axis, low, high) => {
  const half = (high - low) / 2;
  return [half >= 5 ? half : Number(`1e${Math.ceil(Math.log10(half))}`)];
};

function xAxis(base: uPlot.Axis, now: () => Live): uPlot.Axis {
  return {
    ...base,
    size: 34,
    incrs: anyStep,
    splits: (u) => {
      const { x, axis } = now().state;
      const space = axis === "time" ? 110 : 80;
      return xTicks(x, axis, Math.max(2, Math.floor(u.bbox.width / uPlot.pxRatio / space)));
    },
    values: (_u, splits) => xLabels(splits, now().state.axis),
    label: () => axisName(now().state.axis),
    labelSize: 18,
    labelFont: base.font as string,
    labelGap: 0,
  };
}

function yAxis(base: uPlot.Axis, now: () => Live): uPlot.Axis {
  return {
    ...base,
    incrs: anyStep,
    splits: (u) => {
      const { y, scale } = now().state;
      return yTicks(y, scale, Math.max(2, Math.floor(u.bbox.height / uPlot.pxRatio / 42)));
    },
    values: (_u, splits) => distinctLabels(splits.map(now().state.scale.from)),
    size: (_u, values) => {
      const longest = (values ?? []).reduce((most, text) => Math.max(most, text.length), 0);
      return Math.max(44, Math.min(120, 16 + longest * 7));
    },
  };
}

/** The plotting area in CSS px, relative to the whole canvas. */
function frameOf(u: uPlot, state: PlotState): Frame {
  const ratio = uPlot.pxRatio;
  const { left, top, width, height } = u.bbox;
  return {
    left: left / ratio,
    top: top / ratio,
    width: width / ratio,
    height: height / ratio,
    x: state.x,
    y: state.y,
  };
}

function draw(u: uPlot, { state }: Live, ink: ReturnType<typeof inkOf>): void {
  const ratio = uPlot.pxRatio;
  u.ctx.save();
  u.ctx.scale(ratio, ratio);
  drawScene(new CanvasPen(u.ctx, ink.family), frameOf(u, state), state.scene, ink);
  u.ctx.restore();
}

function paintOverlay(u: uPlot, live: Live): void {
  const frame = { ...frameOf(u, live.state), left: 0, top: 0 };
  drawOverlay(live.canvas, frame, live.overlay(), inkOf(live.state.theme), uPlot.pxRatio);
}

function pointed(u: uPlot, live: Live): void {
  const { left = -1, top = -1 } = u.cursor;
  const { sync, source, state } = live;
  if (left < 0) {
    live.onPointer(undefined);
    if (sync.cursor?.source === source) sync.setCursor(undefined);
    return;
  }
  if (!hovered.has(u.over)) return;
  const x = u.posToVal(left, "x");
  const pixel = (state.x[1] - state.x[0]) / (u.bbox.width / uPlot.pxRatio);
  live.onPointer({ x, y: u.posToVal(top, "y"), left: left + u.over.offsetLeft, top: top + u.over.offsetTop, pixel });
  sync.setCursor({ x, axis: state.axis, source });
}

function selected(u: uPlot, { onZoom }: Live): void {
  const { left, top, width, height } = u.select;
  if (width < 4 && height < 4) return;
  const box = u.cursor.drag?.y === true && height > 4;
  const x: Range = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
  const y: Range | undefined = box
    ? [u.posToVal(top + height, "y"), u.posToVal(top, "y")]
    : undefined;
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onZoom(x[0] < x[1] ? x : undefined, y);
}

/** The wheel zooms with Ctrl alone, so that a page with charts still scrolls. */
function wheeled(u: uPlot, { state, onZoom }: Live, event: WheelEvent): void {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const rect = u.over.getBoundingClientRect();
  const centre = u.posToVal(event.clientX - rect.left, "x");
  onZoom(zoomed(state.x, state.limits, event.deltaY > 0 ? 1.25 : 0.8, centre), undefined);
}

