/** What charts are drawn with: a canvas on the screen and in PNG, text in SVG. */
import type { Frame, Sink } from "./paths";

export interface ClosedSink extends Sink {
  closePath(): void;
}

export interface Stroke {
  colour: string;
  width: number;
  dash?: readonly number[];
  alpha?: number;
}

export interface TextStyle {
  colour: string;
  anchor?: "start" | "middle" | "end";
  size?: number;
  bold?: boolean;
}

type Area = Pick<Frame, "left" | "top" | "width" | "height">;

export interface Pen {
  stroke(draw: (sink: Sink) => void, stroke: Stroke): void;
  fill(draw: (sink: ClosedSink) => void, colour: string, alpha?: number): void;
  dot(x: number, y: number, radius: number, colour: string, alpha?: number): void;
  /** Filled rectangles: left, top, width and height of one after the other. */
  rectangles(flat: readonly number[], colour: string): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
  /** Draws what `inner` draws, cut at the edges of the area. */
  clipped(area: Area, inner: () => void): void;
}

/**
 * Segments of a line that are drawn at once. The outline of a long zigzag crosses itself all over,
 * and rasterizers take ten times as long for it as for its pieces.
 */
const MAX_SEGMENTS = 16;

/** Strokes a line in pieces, each from the end of the one before. */
export class Pieces implements Sink {
  private path = new Path2D();
  private segments = 0;

  constructor(
    private readonly ctx: Pick<CanvasRenderingContext2D, "stroke">,
    private readonly most: number,
  ) {}

  moveTo(x: number, y: number): void {
    this.path.moveTo(x, y);
  }

  lineTo(x: number, y: number): void {
    this.path.lineTo(x, y);
    this.segments += 1;
    if (this.segments < this.most) return;
    this.end();
    this.path.moveTo(x, y);
  }

  end(): void {
    if (this.segments > 0) this.ctx.stroke(this.path);
    this.path = new Path2D();
    this.segments = 0;
  }
}

export class CanvasPen implements Pen {
  constructor(
    private readonly ctx: CanvasRenderingContext2D,
    private readonly family: string,
  ) {}

  stroke(draw: (sink: Sink) => void, { colour, width, dash = [], alpha = 1 }: Stroke): void {
    const { ctx } = this;
    ctx.globalAlpha = alpha;
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.lineJoin = "round";
    // Dashes begin anew with each piece, and two round ends show where a line is translucent.
    ctx.lineCap = dash.length === 0 && alpha === 1 ? "round" : "butt";
    ctx.setLineDash(dash as number[]);
    const pieces = new Pieces(ctx, dash.length === 0 ? MAX_SEGMENTS : Infinity);
    draw(pieces);
    pieces.end();
    ctx.setLineDash([]);
    ctx.lineCap = "butt";
    ctx.globalAlpha = 1;
  }

  fill(draw: (sink: ClosedSink) => void, colour: string, alpha = 1): void {
    const path = new Path2D();
    draw(path);
    this.ctx.globalAlpha = alpha;
    this.ctx.fillStyle = colour;
    this.ctx.fill(path);
    this.ctx.globalAlpha = 1;
  }

  dot(x: number, y: number, radius: number, colour: string, alpha = 1): void {
    const { ctx } = this;
    ctx.globalAlpha = alpha;
    ctx.fillStyle = colour;
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  rectangles(flat: readonly number[], colour: string): void {
    const { ctx } = this;
    ctx.fillStyle = colour;
    for (let i = 0; i < flat.length; i += 4)
      ctx.fillRect(flat[i] as number, flat[i + 1] as number, flat[i + 2] as number, flat[i + 3] as number);
  }

  text(x: number, y: number, text: string, { colour, anchor, size = 12, bold }: TextStyle): void {
    const { ctx } = this;
    ctx.font = `${bold ? "600 " : ""}${size}px ${this.family}`;
    ctx.fillStyle = colour;
    ctx.textAlign = anchor === "middle" ? "center" : (anchor ?? "start");
    ctx.fillText(text, x, y);
  }

  clipped({ left, top, width, height }: Area, inner: () => void): void {
    this.ctx.save();
    this.ctx.beginPath();
    this.ctx.rect(left, top, width, height);
    this.ctx.clip();
    inner();
    this.ctx.restore();
  }
}

class SvgPath implements ClosedSink {
  readonly parts: string[] = [];
  moveTo(x: number, y: number): void {
    this.parts.push(`M${short(x)} ${short(y)}`);
  }
  lineTo(x: number, y: number): void {
    this.parts.push(`L${short(x)} ${short(y)}`);
  }
  closePath(): void {
    this.parts.push("Z");
  }
}

export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly family: string,
  ) {}

  stroke(draw: (sink: Sink) => void, { colour, width, dash = [], alpha = 1 }: Stroke): void {
    const path = new SvgPath();
    draw(path);
    if (path.parts.length === 0) return;
    const extra =
      (dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "") +
      (alpha < 1 ? ` stroke-opacity="${alpha}"` : "");
    this.parts.push(
      `<path d="${path.parts.join("")}" fill="none" stroke="${escape(colour)}" stroke-width="${width}" stroke-linejoin="round"${extra}/>`,
    );
  }

  fill(draw: (sink: ClosedSink) => void, colour: string, alpha = 1): void {
    const path = new SvgPath();
    draw(path);
    if (path.parts.length === 0) return;
    this.parts.push(
      `<path d="${path.parts.join("")}" fill="${escape(colour)}"${alpha < 1 ? ` fill-opacity="${alpha}"` : ""}/>`,
    );
  }

  dot(x: number, y: number, radius: number, colour: string, alpha = 1): void {
    this.parts.push(
      `<circle cx="${short(x)}" cy="${short(y)}" r="${radius}" fill="${escape(colour)}"${alpha < 1 ? ` fill-opacity="${alpha}"` : ""}/>`,
    );
  }

  rectangles(flat: readonly number[], colour: string): void {
    const shapes: string[] = [];
    for (let i = 0; i < flat.length; i += 4) {
      const [left, top, width, height] = flat.slice(i, i + 4).map(short);
      shapes.push(`M${left} ${top}h${width}v${height}h-${width}z`);
    }
    if (shapes.length > 0) this.parts.push(`<path d="${shapes.join("")}" fill="${escape(colour)}"/>`);
  }

  text(x: number, y: number, text: string, { colour, anchor, size = 12, bold }: TextStyle): void {
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" font-size="${size}" fill="${escape(colour)}"${anchor ? ` text-anchor="${anchor}"` : ""}${bold ? ' font-weight="600"' : ""}>${escape(text)}</text>`,
    );
  }

  clipped({ left, top, width, height }: Area, inner: () => void): void {
    const id = `area${this.clips++}`;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${left}" y="${top}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#${id})">`,
    );
    inner();
    this.parts.push("</g>");
  }

  toString(): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="${escape(this.family)}">${this.parts.join("")}</svg>\n`;
  }
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** Characters that mean something in XML, and those that XML forbids. */
function escape(text: string): string {
  return text
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;")
     
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}
