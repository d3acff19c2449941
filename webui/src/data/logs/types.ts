/** Lines of a log and where they come from. */

export type Level = "TRACE" | "DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL";

export const LEVELS: readonly Level[] = ["TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];

export interface LogLine {
  /** Unique in the log; a number in text. */
  id: string;
  /** ISO text of the instant. */
  time: string | undefined;
  level: Level | undefined;
  rank: number | undefined;
  text: string;
}

export interface LogFilter {
  /** The lowest level that is shown; undefined shows lines without a level too. */
  least: Level | undefined;
  /** Empty for all. */
  ranks: readonly number[];
}

export const NO_FILTER: LogFilter = { least: undefined, ranks: [] };

export interface LogPage {
  /** In the order of the log, oldest first. */
  lines: LogLine[];
  /** Nothing lies beyond, in the direction that was asked for. */
  end: boolean;
}

export interface LogQuery {
  text: string;
  regex: boolean;
}

/** Where a viewer gets its lines. `data/logs` makes such sources; a test makes one of a list. */
export interface LogSource {
  /** The page that ends before `line`; the newest page where it is undefined. */
  loadBefore(line: LogLine | undefined, count: number): Promise<LogPage>;
  /** The page that begins after `line`; the oldest page where it is undefined. */
  loadAfter(line: LogLine | undefined, count: number): Promise<LogPage>;
  /** Calls `onLines` with all lines after `line` as they come, until the answer is called. */
  follow?(line: LogLine | undefined, onLines: (lines: LogLine[]) => void, onEnd: () => void): () => void;
  /** Lines of the whole log that match, newest last, at most some hundred. */
  search?(query: LogQuery): Promise<LogLine[]>;
  /** All lines, as the master words them. */
  file?(): Promise<Blob>;
  /** The same log with fewer lines. */
  withFilter?(filter: LogFilter): LogSource;
}

export function shows(filter: LogFilter, line: LogLine): boolean {
  if (filter.ranks.length > 0 && (line.rank === undefined || !filter.ranks.includes(line.rank))) return false;
  if (!filter.least) return true;
  return line.level !== undefined && LEVELS.indexOf(line.level) >= LEVELS.indexOf(filter.least);
}

export function isError(line: LogLine): boolean {
  return line.level === "ERROR" || line.level === "CRITICAL";
}
