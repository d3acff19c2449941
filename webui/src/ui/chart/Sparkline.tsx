/**
 * A line of a few dozen px, for tables and drawers.
 *
 *     <Sparkline x={x} y={y} runId={12} label="validation.loss" />
 */
import { useMemo } from "react";

import { formatNumber } from "@/data/format/numbers";

import { widen } from "./math/range";
import { extremes } from "./math/summary";
import { colourOf, hueOf } from "./palette";
import { linePath, toX, toY, type Frame } from "./plot/paths";
import { useTheme } from "./plot/theme";
import type { Numbers } from "./types";

export function Sparkline({
  x,
  y,
  label,
  runId,
  width = 96,
  height = 22,
}: {
  x: Numbers;
  y: Numbers;
  label: string;
  runId?: string | number;
  width?: number;
  height?: number;
}) {
  const theme = useTheme();
  const { first, last, low, high } = useMemo(() => extremes(y), [y]);
  const drawing = useMemo(() => pathOf(x, y, low, high, width, height), [x, y, low, high, width, height]);
  if (first === undefined || !drawing) return <span className="muted">–</span>;
  const colour = runId === undefined ? "var(--accent)" : colourOf(hueOf(runId), theme);
  const text = `${label}: from ${formatNumber(first)} to ${formatNumber(last)}, lowest ${formatNumber(low)}, highest ${formatNumber(high)}`;
  return (
    <svg width={width} height={height} role="img" aria-label={text} style={{ display: "block" }}>
      <title>{text}</title>
      <path d={drawing.path} fill="none" stroke={colour} strokeWidth={1.25} strokeLinejoin="round" />
      <circle cx={drawing.end[0]} cy={drawing.end[1]} r={2} fill={colour} />
    </svg>
  );
}

function pathOf(x: Numbers, y: Numbers, low: number, high: number, width: number, height: number) {
  if (x.length === 0) return undefined;
  const frame: Frame = {
    left: 3,
    top: 3,
    width: width - 6,
    height: height - 6,
    x: widen(x[0] as number, x[x.length - 1] as number),
    y: widen(low, high),
  };
  const parts: string[] = [];
  const add = (sign: string) => (px: number, py: number) => parts.push(`${sign}${px.toFixed(1)} ${py.toFixed(1)}`);
  // A value that is not finite is a gap.
  const values = Float64Array.from(y, (value) => (Number.isFinite(value) ? value : NaN));
  linePath({ moveTo: add("M"), lineTo: add("L") }, frame, x, values);
  const at = values.findLastIndex((value) => !Number.isNaN(value));
  if (at < 0) return undefined;
  return { path: parts.join(""), end: [toX(frame, x[at] as number), toY(frame, values[at] as number)] as const };
}
