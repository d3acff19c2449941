/** Times of a schedule: fields of the browser are in its zone, the wire is in UTC. */
import { serverNow } from "@/api/clock";

/** The value of a `datetime-local` field for an instant in milliseconds. */
export function localOf(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

export function isoOf(local: string): string {
  return new Date(local).toISOString();
}

/** Hours as a duration of Go: `1.5` is `90m`. */
export function durationOf(hours: string): string {
  return `${Math.round(Number(hours) * 60)}m`;
}

/** Why a schedule cannot be sent; fields that do not apply are `undefined`. */
export function scheduleRefusal(
  { start, end, hours }: { start: string | undefined; end: string | undefined; hours: string | undefined },
  now = serverNow(),
): string | undefined {
  const from = start === undefined ? now : Date.parse(start);
  if (Number.isNaN(from)) return "Choose when the message starts.";
  if (hours !== undefined && !(Number(hours) * 60 >= 1)) return "The hours are a number above 0.";
  if (end === undefined) return undefined;
  const to = Date.parse(end);
  if (Number.isNaN(to)) return "Choose when the message ends.";
  return to > from ? undefined : "The message ends before it starts.";
}
