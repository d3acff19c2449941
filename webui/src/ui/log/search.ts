/** Searches in the loaded rows. Hits of appended rows are added without a new search. */
import type { FeedState } from "./feed";
import type { Row } from "./rows";
import { isError, type LogFilter, type LogLine, type LogQuery, type LogSource } from "./types";

export interface Matcher {
  /** The parts of a text that match, as [start, end]. */
  ranges(text: string): (readonly [number, number])[];
  test(text: string): boolean;
}

/** Ignores case, unless the query has a capital letter. `error` says why a pattern is wrong. */
export function makeMatcher({ text, regex }: LogQuery): { matcher?: Matcher; error?: string } {
  if (!text) return {};
  const flags = /[A-Z]/.test(text) ? "gu" : "giu";
  try {
    const pattern = new RegExp(regex ? text : text.replace(/[.*+?^${}()|[\]\\/-]/g, escaped), flags);
    return { matcher: matcherOf(pattern) };
  } catch (cause) {
    return { error: cause instanceof Error ? cause.message : String(cause) };
  }
}

/** In a pattern with the flag `u`, `-` and `/` need no backslash, and `-` may not have one. */
function escaped(char: string): string {
  return char === "-" || char === "/" ? char : `\\${char}`;
}

function matcherOf(pattern: RegExp): Matcher {
  return {
    test(text) {
      pattern.lastIndex = 0;
      return pattern.test(text);
    },
    ranges(text) {
      pattern.lastIndex = 0;
      const found: (readonly [number, number])[] = [];
      for (const match of text.matchAll(pattern)) {
        if (match[0].length > 0) found.push([match.index, match.index + match[0].length]);
        if (found.length >= 100) break;
      }
      return found;
    },
  };
}

export class Hits {
  /** Indices of rows, ascending. */
  rows: number[] = [];
  private searched = 0;
  private matcher: Matcher | undefined;

  restart(matcher: Matcher | undefined, rows: readonly Row[]): void {
    this.matcher = matcher;
    this.rows = [];
    this.searched = 0;
    this.extend(rows);
  }

  /** The same search in rows that were built again. */
  again(rows: readonly Row[]): void {
    this.restart(this.matcher, rows);
  }

  extend(rows: readonly Row[]): void {
    if (!this.matcher) return;
    // The last row may have been replaced by a later state of its progress bar.
    const from = Math.max(0, this.searched - 1);
    if (this.rows[this.rows.length - 1] === from) this.rows.pop();
    for (let i = from; i < rows.length; i++)
      if (this.matcher.test((rows[i] as Row).plain)) this.rows.push(i);
    this.searched = rows.length;
  }

  /** The hit after (or before) a row, around the ends. */
  next(row: number, step: 1 | -1): number | undefined {
    if (this.rows.length === 0) return undefined;
    if (step > 0) return this.rows.find((each) => each > row) ?? this.rows[0];
    return this.rows.findLast((each) => each < row) ?? this.rows[this.rows.length - 1];
  }
}

/** The next row with an error below `from`; undefined where none is loaded. */
export function errorBelow(rows: readonly Row[], from: number): number | undefined {
  const index = rows.findIndex(({ line }, i) => i > from && isError(line));
  return index < 0 ? undefined : index;
}

/** The first error after the loaded lines, else the first one of the log; undefined without any. */
export async function errorBeyond(
  source: LogSource,
  filter: LogFilter,
  { lines, hasNewer }: Pick<FeedState, "lines" | "hasNewer">,
): Promise<LogLine | undefined> {
  if (!source.withFilter) return lines.find(isError);
  const errors = source.withFilter({ ...filter, least: filter.least === "CRITICAL" ? "CRITICAL" : "ERROR" });
  const next = hasNewer ? await errors.loadAfter(lines[lines.length - 1], 1) : undefined;
  return next?.lines[0] ?? (await errors.loadAfter(undefined, 1)).lines[0];
}
