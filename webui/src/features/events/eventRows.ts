/** Works on events that the page has read: filters by words and level, links, files. */
import type { ClusterEvent, EventThing, Level } from "@/data/events";
import { csvOf } from "@/data/format/csv";

const ORDER: Level[] = ["info", "warning", "error"];

/** Events of at least the level that have all words in their text, their thing or their user. */
export function narrowed(events: readonly ClusterEvent[], words: string, least: Level): ClusterEvent[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return events.filter((each) => {
    if (ORDER.indexOf(each.level) < ORDER.indexOf(least)) return false;
    const text = `${each.text} ${each.thing.name} ${thingWord(each.thing)} ${each.username}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** The page of a thing; undefined for what has none. */
export function placeOf({ kind, id }: EventThing): string | undefined {
  if (kind === "experiment") return `/experiments/${id}`;
  if (kind === "trial") return `/trials/${id}`;
  if (["command", "notebook", "shell", "tensorboard", "generic"].includes(kind)) return `/${kind}/${encodeURIComponent(id)}/logs`;
  return undefined;
}

/** `experiment 12`, `notebook 5f0c1a2b`. */
export function thingWord({ kind, id }: EventThing): string {
  const word = kind === "trial" ? "trial" : kind.replace(/_/g, " ");
  return `${word} ${/^\d+$/.test(id) ? id : id.slice(0, 8)}`;
}

export function eventsCsv(events: readonly ClusterEvent[]): string {
  return csvOf(
    ["time", "user", "event", "level", "text", "kind", "id", "name", "workspace"],
    events.map((each) => [
      each.at,
      each.username,
      each.kind,
      each.level,
      each.text,
      each.thing.kind,
      each.thing.id,
      each.thing.name,
      each.thing.workspaceId || "",
    ]),
  );
}

const SPANS_S: Record<string, number> = { hour: 3600, day: 86_400, week: 604_800, month: 2_592_000 };

/** The instant that a span of the filter begins at; empty for all that is kept. */
export function sinceOf(span: string, now: number): string {
  const seconds = SPANS_S[span];
  return seconds === undefined ? "" : new Date(now - seconds * 1000).toISOString();
}
