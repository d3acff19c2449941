/** One row: when, which rank, which level, and the text. */
import { memo } from "react";

import { formatDuration, formatInstant } from "@/data/format/times";

import { colourOf, type Theme } from "../chart/palette";
import { parseAnsi, type Span } from "./ansi";
import styles from "./Log.module.css";
import type { Row } from "./rows";
import type { Matcher } from "./search";

export type TimeStyle = "clock" | "since" | "off";

export interface RowLook {
  times: TimeStyle;
  /** Milliseconds since the epoch that "since" counts from. */
  start: number;
  ranks: boolean;
  wrap: boolean;
  theme: Theme;
}

export const LogRow = memo(function LogRow({
  row,
  top,
  lines,
  look,
  matcher,
  marked,
  onFold,
  onLink,
}: {
  row: Row;
  top: number;
  lines: number;
  look: RowLook;
  matcher: Matcher | undefined;
  marked: boolean;
  onFold(row: Row): void;
  onLink(id: string): void;
}) {
  const { line, folded, rewrites } = row;
  const states = folded.length + rewrites;
  const lane = line.rank === undefined ? undefined : colourOf(line.rank, look.theme);
  return (
    <div
      className={styles.row}
      data-level={line.level}
      data-marked={marked}
      style={{ top, height: lines * LINE_HEIGHT }}
    >
      <a
        className={styles.time}
        href={`#L${line.id}`}
        title={`${line.time ? formatInstant(line.time) : "No time"}. The address of line ${line.id}.`}
        tabIndex={-1}
        onClick={(event) => {
          event.preventDefault();
          onLink(line.id);
        }}
      >
        {timeText(line.time, look) || line.id}
      </a>
      {look.ranks && (
        <span className={styles.rank} style={lane ? { borderColor: lane } : undefined}>
          {line.rank === undefined ? "" : `r${line.rank}`}
        </span>
      )}
      <span className={styles.level}>{line.level === "WARNING" ? "WARN" : line.level === "CRITICAL" ? "CRIT" : line.level}</span>
      <span className={styles.text} data-wrap={look.wrap}>
        {withHits(parseAnsi(row.shown), matcher?.ranges(row.plain) ?? []).map((span, i) => (
          <Part key={i} span={span} />
        ))}
      </span>
      {states > 0 && (
        <button
          type="button"
          className={styles.fold}
          tabIndex={-1}
          title="Earlier states of this progress bar. Click shows or hides them."
          onClick={() => onFold(row)}
        >
          +{states}
        </button>
      )}
    </div>
  );
});

export const LINE_HEIGHT = 20;

interface Marked extends Span {
  hit?: boolean;
}

function Part({ span: { text, ink, ground, bold, dim, italic, underline, hit } }: { span: Marked }) {
  if (!ink && !ground && !bold && !dim && !italic && !underline && !hit) return <>{text}</>;
  const Tag = hit ? "mark" : "span";
  return (
    <Tag
      className={styles.part}
      data-ink={ink}
      data-ground={ground}
      data-bold={bold}
      data-dim={dim}
      data-italic={italic}
      data-underline={underline}
    >
      {text}
    </Tag>
  );
}

/** Spans split at the ends of hits. */
export function withHits(spans: readonly Span[], hits: readonly (readonly [number, number])[]): Marked[] {
  if (hits.length === 0) return [...spans];
  const out: Marked[] = [];
  let at = 0;
  for (const span of spans) {
    let from = 0;
    for (const [start, end] of hits) {
      const a = Math.max(start - at, from);
      const b = Math.min(end - at, span.text.length);
      if (a >= b) continue;
      if (a > from) out.push({ ...span, text: span.text.slice(from, a) });
      out.push({ ...span, text: span.text.slice(a, b), hit: true });
      from = b;
    }
    if (from < span.text.length) out.push({ ...span, text: span.text.slice(from) });
    at += span.text.length;
  }
  return out;
}

export function timeText(time: string | undefined, { times, start }: Pick<RowLook, "times" | "start">): string {
  if (!time || times === "off") return "";
  const at = Date.parse(time);
  if (Number.isNaN(at)) return "";
  if (times === "since") return `+${formatDuration((at - start) / 1000)}`;
  return formatInstant(time).slice(11);
}
