/** What moves with the cursor, on a canvas above the plot, so that the lines are not redrawn. */
import type { Hit } from "../math/nearest";
import type { Trace } from "../math/trace";
import { linePath, toX, toY, type Frame } from "./paths";
import type { Ink } from "./theme";

export interface OverlayState {
  hits: readonly Hit[];
  /** The trace that is drawn thick. */
  highlight: Trace | undefined;
  /** The point of the keyboard's cursor. */
  point: Hit | undefined;
}

export function drawOverlay(
  canvas: HTMLCanvasElement,
  frame: Frame,
  { hits, highlight, point }: OverlayState,
  ink: Ink,
  ratio: number,
): void {
  const width = Math.round(frame.width * ratio);
  const height = Math.round(frame.height * ratio);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, frame.width, frame.height);
  if (highlight) {
    const path = new Path2D();
    linePath(path, frame, highlight.x, highlight.y);
    ctx.strokeStyle = highlight.colour;
    ctx.lineWidth = 2.75;
    ctx.setLineDash([...highlight.dash]);
    ctx.stroke(path);
    ctx.setLineDash([]);
  }
  for (const hit of hits) ring(ctx, frame, hit, hit.trace === highlight ? 4.5 : 3, ink);
  if (point) {
    const px = toX(frame, point.x);
    ctx.strokeStyle = ink.strong;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(px, 0);
    ctx.lineTo(px, frame.height);
    ctx.stroke();
    ring(ctx, frame, point, 5.5, ink);
  }
}

function ring(ctx: CanvasRenderingContext2D, frame: Frame, hit: Hit, size: number, ink: Ink): void {
  if (Number.isNaN(hit.y)) return;
  ctx.beginPath();
  ctx.arc(toX(frame, hit.x), toY(frame, hit.y), size, 0, 2 * Math.PI);
  ctx.fillStyle = hit.trace.colour;
  ctx.fill();
  ctx.strokeStyle = ink.ground;
  ctx.lineWidth = 1.5;
  ctx.stroke();
}
