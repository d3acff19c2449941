/** Sums over the aggregated usage of the master. Times are in hours of one slot. */
import type { Schemas } from "@/api/client";

type Entry = Schemas["ResourceAllocationAggregatedEntry"];
export type Period = "day" | "month";
export type Group = "total" | "user" | "label" | "pool";

export const GROUPS: Group[] = ["total", "user", "label", "pool"];

const DAY_MS = 86_400_000;
const MAX_DAYS = 31;
const MAX_MONTHS = 36;

/** The last two weeks, or the last year. */
export function rangeOf(period: Period, now: number): { start: string; end: string } {
  const back = period === "day" ? 13 * DAY_MS : 364 * DAY_MS;
  return { start: isoDay(now - back), end: isoDay(now) };
}

/** Why the range cannot be shown; `undefined` when it can. */
export function rangeProblem(period: Period, start: string, end: string): string | undefined {
  const from = Date.parse(start);
  const to = Date.parse(end);
  if (Number.isNaN(from) || Number.isNaN(to)) return "Give both dates.";
  if (to < from) return "The end is before the start.";
  const days = (to - from) / DAY_MS + 1;
  if (period === "day" && days > MAX_DAYS) return `At most ${MAX_DAYS} days; choose months for more.`;
  if (period === "month" && days > MAX_MONTHS * 31) return `At most ${MAX_MONTHS} months.`;
  return undefined;
}

export function totals(entries: Entry[]): { start: string; hours: number }[] {
  return entries
    .map((entry) => ({ start: (entry.periodStart ?? "").slice(0, 10), hours: hours(entry.seconds) }))
    .sort((a, b) => a.start.localeCompare(b.start));
}

/** Hours by the names of a group over all periods, the largest first. */
export function entriesBy(entries: Entry[], group: Group): [string, number][] {
  const sums = new Map<string, number>();
  for (const entry of entries)
    for (const [name, seconds] of Object.entries(valuesOf(entry, group)))
      sums.set(name, (sums.get(name) ?? 0) + hours(seconds));
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function valuesOf(entry: Entry, group: Group): Record<string, number | undefined> {
  switch (group) {
    case "total":
      return { all: entry.seconds };
    case "user":
      return entry.byUsername ?? {};
    case "label":
      return entry.byExperimentLabel ?? {};
    case "pool":
      return entry.byResourcePool ?? {};
  }
}

function hours(seconds: number | undefined): number {
  return (seconds ?? 0) / 3600;
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
