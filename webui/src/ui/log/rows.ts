/**
 * The rows of a log: lines that the filter shows, with repeated progress bars folded into the
 * last one. Rows and their places are appended without touching the earlier ones, so that a fast
 * log costs as much at its end as at its start.
 */
import { stripAnsi } from "./ansi";
import { NO_FILTER, shows, type LogFilter, type LogLine } from "./types";

export interface Row {
  line: LogLine;
  /** The text without escape sequences, the part after the last carriage return. */
  plain: string;
  /** The same part with its escape sequences. */
  shown: string;
  /** Earlier states of the progress bar, oldest first. */
  folded: LogLine[];
  /** States that one line held itself, between carriage returns. */
  rewrites: number;
}

export interface RowOptions {
  filter: LogFilter;
  /** Characters of a row, when lines wrap; 0 when they do not. */
  columns: number;
  fold: boolean;
}

const PROGRESS = /\d{1,3}(?:\.\d+)?\s?%|\d+\/\d+\s*\[/;
// Characters that terminals and monospaced fonts draw two columns wide.
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/gu;

export class Rows {
  rows: Row[] = [];
  /** The bottom of each row, in units of one text line. */
  ends: number[] = [];
  options: RowOptions = { filter: NO_FILTER, columns: 0, fold: true };

  get height(): number {
    return this.ends[this.ends.length - 1] ?? 0;
  }

  rebuild(lines: readonly LogLine[], options: RowOptions): void {
    this.rows = [];
    this.ends = [];
    this.options = options;
    this.append(lines);
  }

  append(lines: readonly LogLine[]): void {
    const { filter, fold } = this.options;
    for (const line of lines) {
      if (!shows(filter, line)) continue;
      const row = rowOf(line);
      const last = this.rows[this.rows.length - 1];
      if (fold && last && continues(last, row)) this.replaceLast(last, row);
      else {
        this.rows.push(row);
        this.ends.push(this.height + this.lineCount(row));
      }
    }
  }

  /** The index of the row at a height. */
  at(height: number): number {
    let low = 0;
    let high = this.ends.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.ends[middle] as number) > height) high = middle;
      else low = middle + 1;
    }
    return Math.max(0, low);
  }

  top(index: number): number {
    return index > 0 ? (this.ends[index - 1] as number) : 0;
  }

  /** The row that shows a line, also where it is folded away; -1 where there is none. */
  indexOf(id: string): number {
    return this.rows.findIndex((row) => row.line.id === id || row.folded.some((line) => line.id === id));
  }

  lineCount({ plain }: Row): number {
    const { columns } = this.options;
    if (columns <= 0) return 1;
    return Math.max(1, Math.ceil(widthOf(plain) / columns));
  }

  private replaceLast(last: Row, row: Row): void {
    row.folded = last.folded;
    row.folded.push(last.line);
    row.rewrites += last.rewrites;
    const index = this.rows.length - 1;
    this.rows[index] = row;
    this.ends[index] = this.top(index) + this.lineCount(row);
  }
}

export function rowOf(line: LogLine): Row {
  const text = line.text.replace(/[\r\n]+$/, "");
  const parts = text.includes("\r") ? text.split("\r").filter((part) => part.trim() !== "") : [text];
  const shown = expandTabs(parts[parts.length - 1] ?? "").replace(/\n/g, " ⏎ ");
  return { line, plain: stripAnsi(shown), shown, folded: [], rewrites: Math.max(0, parts.length - 1) };
}

/** True when `row` is the next state of the progress bar in `last`. */
function continues(last: Row, row: Row): boolean {
  if (last.line.rank !== row.line.rank) return false;
  if (!PROGRESS.test(last.plain) || !PROGRESS.test(row.plain)) return false;
  return stem(last.plain) === stem(row.plain) && barLike(last.plain) && barLike(row.plain);
}

/** The words before the numbers. */
function stem(text: string): string {
  return text.slice(0, Math.max(0, text.search(/\d/))).trim();
}

/** Progress bars have a bar, or a rate: a line that only names a percentage is no bar. */
function barLike(text: string): boolean {
  return /%\s*\|/.test(text) || /\[[=#>\-. ]{3,}\]/.test(text) || /(?:it|s|B)\/(?:s|it)\b/.test(text);
}

function widthOf(text: string): number {
   
  if (!/[^\u0000-\u10ff]/.test(text)) return text.length;
  return [...text].length + (text.match(WIDE)?.length ?? 0);
}

function expandTabs(text: string): string {
  if (!text.includes("\t")) return text;
  let out = "";
  for (const char of text) out += char === "\t" ? " ".repeat(8 - (out.length % 8)) : char;
  return out;
}
