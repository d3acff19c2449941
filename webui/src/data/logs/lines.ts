/** Lines of the wire as lines of a viewer. */
import type { Level, LogFilter, LogLine } from "./types";
import { LEVELS } from "./types";

/** A line of `GET /api/v1/tasks/{id}/logs`, of a trial's logs, and of the topic `logs:TASK`. */
export interface WireLine {
  id: string | number;
  timestamp?: string;
  level?: string;
  rankId?: number;
  log?: string;
  message?: string;
}

export function lineOf(wire: WireLine): LogLine {
  return {
    id: String(wire.id),
    time: wire.timestamp,
    level: levelOf(wire.level),
    rank: wire.rankId,
    text: wire.log ?? wire.message ?? "",
  };
}

export function levelOf(level: string | undefined): Level | undefined {
  const word = (level ?? "").replace("LOG_LEVEL_", "") as Level;
  return LEVELS.includes(word) ? word : undefined;
}

/** Ids are integers in text; negative when the first comes before the second. */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** The parameters of the public routes that leave out what the filter hides. */
export function filterParams({ least, ranks }: LogFilter): [string, string][] {
  const levels = least ? LEVELS.slice(LEVELS.indexOf(least)) : [];
  return [
    ...levels.map((level): [string, string] => ["levels", `LOG_LEVEL_${level}`]),
    ...ranks.map((rank): [string, string] => ["rankIds", String(rank)]),
  ];
}
