/** The frame of every chart of a search: canvas, points under the pointer and the keyboard, table, files. */
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";

import { IconButton } from "../../button/Button";
import { PlainTable } from "../../layout/Card";
import { Menu } from "../../overlay/Menu";
import chart from "../Chart.module.css";
import { download } from "../export/download";
import { toCsv } from "../export/table";
import { CanvasPen, SvgPen, type Pen } from "../plot/pen";
import { inkOf, useTheme, type Ink } from "../plot/theme";
import { useWidth } from "../useWidth";
import styles from "./Hp.module.css";

export interface HpPoint {
  id: string;
  x: number;
  y: number;
  /** What is shown and spoken. */
  text: string;
}

export interface Drawing {
  draw(pen: Pen, ink: Ink): void;
  /** In the order of the arrow keys. */
  points: readonly HpPoint[];
}

export interface CanvasChartProps {
  title: string;
  summary: string;
  height: number;
  /** Must keep its identity while the drawing is the same. */
  layout(width: number, height: number, ink: Ink): Drawing;
  table: { columns: string[]; rows: (string | number | undefined)[][] };
  /** The run that is marked, here or in a table beside. */
  highlight?: string | undefined;
  onHighlight?: ((id: string | undefined) => void) | undefined;
  onOpen?: ((id: string) => void) | undefined;
  empty?: string | undefined;
  controls?: ReactNode;
  /** Between canvas and edge, such as the heads of axes. */
  children?: (width: number) => ReactNode;
  onDrag?: ((from: readonly [number, number], to: readonly [number, number], width: number) => void) | undefined;
}

const NEAR = 18;
const MAX_ROWS = 500;

export function CanvasChart(props: CanvasChartProps) {
  const { title, summary, height, layout, table, empty, onDrag } = props;
  const ink = inkOf(useTheme());
  const [area, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [own, setOwn] = useState<string>();
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  const drawing = useMemo(() => (width > 0 ? layout(width, height, ink) : undefined), [layout, width, height, ink]);
  const marked = own ?? props.highlight;
  const point = drawing?.points.find((each) => each.id === marked);
  useEffect(() => {
    const element = canvas.current;
    if (element && drawing) paint(element, width, height, drawing, point, ink);
  }, [drawing, width, height, point, ink, asTable]);

  const mark = (next: string | undefined) => {
    setOwn(next);
    props.onHighlight?.(next);
  };
  const drag = useRef<readonly [number, number]>(undefined);
  const onPointer = (event: PointerEvent) => {
    const at = placeIn(event);
    if (drag.current && onDrag) onDrag(drag.current, at, width);
    else mark(nearest(drawing?.points ?? [], at)?.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextPoint(event.key, drawing?.points ?? [], marked);
    if (event.key === "Enter" && point) props.onOpen?.(point.id);
    else if (event.key === "Escape") mark(undefined);
    else if (next) mark(next.id);
    else return;
    event.preventDefault();
  };
  return (
    <section className={chart.chart} aria-label={title}>
      <header className={chart.head}>
        <h3 className={chart.title}>{title}</h3>
        {props.controls}
        <Menu
          trigger={<IconButton small icon="more" label={`Menu of ${title}`} />}
          items={[
            { label: asTable ? "Show the chart" : "Show the data as a table", icon: "columns", onSelect: () => setAsTable(!asTable) },
            "separator",
            { heading: "Download" },
            { label: "PNG", onSelect: () => drawing && void savePng(title, width, height, drawing, ink, 1) },
            { label: "PNG, twice the size", onSelect: () => drawing && void savePng(title, width, height, drawing, ink, 2) },
            { label: "SVG", onSelect: () => drawing && saveSvg(title, width, height, drawing, ink) },
            { label: "CSV", onSelect: () => download(`${title}.csv`, csvOf(table), "text/csv") },
          ]}
        />
      </header>
      {asTable ? (
        <DataRows title={title} table={table} />
      ) : (
        <div ref={area} className={styles.area} style={{ height }}>
          {empty ? (
            <div className={chart.nothing}>{empty}</div>
          ) : (
            <div
              className={styles.focus}
              role="application"
              aria-roledescription="chart"
              aria-label={title}
              aria-describedby={id}
              tabIndex={0}
              onKeyDown={onKeyDown}
              onPointerMove={onPointer}
              onPointerDown={(event) => {
                drag.current = placeIn(event);
                if (onDrag) event.currentTarget.setPointerCapture(event.pointerId);
              }}
              onPointerUp={() => (drag.current = undefined)}
              onPointerLeave={() => mark(undefined)}
              onDoubleClick={() => point && props.onOpen?.(point.id)}
            >
              <canvas ref={canvas} role="img" aria-label={summary} className={styles.canvas} />
              <span id={id} className="visually-hidden">
                Arrow keys move from point to point. Enter opens one.
              </span>
              {point && <Tip point={point} width={width} />}
              <div aria-live="polite" className="visually-hidden">
                {point?.text}
              </div>
            </div>
          )}
          {!empty && width > 0 && props.children?.(width)}
        </div>
      )}
    </section>
  );
}

function Tip({ point: { x, y, text }, width }: { point: HpPoint; width: number }) {
  const side = x > width / 2 ? { right: width - x + 12 } : { left: x + 12 };
  return (
    <div className={chart.tooltip} style={{ ...side, top: Math.max(4, y - 12), whiteSpace: "pre-line" }} aria-hidden>
      {text}
    </div>
  );
}

function DataRows({ title, table }: { title: string; table: CanvasChartProps["table"] }) {
  return (
    <div className={chart.dataView}>
      <PlainTable label={`${title}, data`} columns={table.columns}>
        {table.rows.slice(0, MAX_ROWS).map((row, i) => (
          <tr key={i}>
            {row.map((value, j) => (j === 0 ? <th key={j} scope="row">{value}</th> : <td key={j} className="number">{value ?? ""}</td>))}
          </tr>
        ))}
      </PlainTable>
      {table.rows.length > MAX_ROWS && <p className="hint">The CSV file has all {table.rows.length} rows.</p>}
    </div>
  );
}

function paint(canvas: HTMLCanvasElement, width: number, height: number, drawing: Drawing, point: HpPoint | undefined, ink: Ink): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawing.draw(new CanvasPen(ctx, ink.family), ink);
  if (!point) return;
  ctx.beginPath();
  ctx.arc(point.x, point.y, 6, 0, 2 * Math.PI);
  ctx.strokeStyle = ink.strong;
  ctx.lineWidth = 2;
  ctx.stroke();
}

function placeIn(event: PointerEvent): readonly [number, number] {
  const rect = event.currentTarget.getBoundingClientRect();
  return [event.clientX - rect.left, event.clientY - rect.top];
}

export function nearest(points: readonly HpPoint[], [x, y]: readonly [number, number]): HpPoint | undefined {
  let best: HpPoint | undefined;
  let least = NEAR * NEAR;
  for (const point of points) {
    const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (distance < least) [best, least] = [point, distance];
  }
  return best;
}

export function nextPoint(key: string, points: readonly HpPoint[], current: string | undefined): HpPoint | undefined {
  const at = points.findIndex((point) => point.id === current);
  if (key === "ArrowRight" || key === "ArrowDown") return points[Math.min(points.length - 1, at + 1)];
  if (key === "ArrowLeft" || key === "ArrowUp") return points[at < 0 ? points.length - 1 : Math.max(0, at - 1)];
  if (key === "Home") return points[0];
  if (key === "End") return points[points.length - 1];
  return undefined;
}

function saveSvg(title: string, width: number, height: number, drawing: Drawing, ink: Ink): void {
  const pen = new SvgPen(width, height, ink.family);
  drawing.draw(pen, ink);
  download(`${title}.svg`, pen.toString(), "image/svg+xml");
}

async function savePng(title: string, width: number, height: number, drawing: Drawing, ink: Ink, ratio: number): Promise<void> {
  const canvas = document.createElement("canvas");
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.scale(ratio, ratio);
  ctx.fillStyle = ink.ground;
  ctx.fillRect(0, 0, width, height);
  drawing.draw(new CanvasPen(ctx, ink.family), ink);
  canvas.toBlob((blob) => blob && download(`${title}.png`, blob));
}

function csvOf({ columns, rows }: CanvasChartProps["table"]): string {
  const [head] = toCsv({ columns, rows: [] }).split("\r\n");
  const lines = rows.map((row) => toCsv({ columns: row.map((value) => String(value ?? "")), rows: [] }).trimEnd());
  return `${[head, ...lines].join("\r\n")}\r\n`;
}
