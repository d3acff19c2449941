/** The transport of the next connection, the pause before it, and what the page says in the pause. */

/** A WebSocket, or the same frames as Server-Sent Events. */
export type Transport = "socket" | "events";

/** `connecting` is the first attempt; `reconnecting` follows a lost connection. */
export type LiveMode = "idle" | "connecting" | "live" | "sse" | "reconnecting" | "polling";

/** Attempts with a WebSocket before Server-Sent Events; then both take turns. */
export const SOCKET_ATTEMPTS = 2;
/** Failures in a row after which the page no longer says "interrupted": queries poll. */
export const GIVEN_UP = 8;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;

/**
 * The transport of the next attempt, after `failures` in a row. The first is that of the
 * last connection, because behind a proxy without WebSockets, events come back at once.
 */
export function nextTransport(failures: number, last: Transport): Transport {
  const turn = last === "events" ? failures : failures - SOCKET_ATTEMPTS;
  return turn >= 0 && turn % 2 === 0 ? "events" : "socket";
}

/** Milliseconds before the next attempt. */
export function pauseMs(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures, 6), MAX_PAUSE_MS);
}

/** The mode between and during attempts. */
export function waitingMode(failures: number, wasOpen: boolean): LiveMode {
  if (failures > SOCKET_ATTEMPTS && (!wasOpen || failures >= GIVEN_UP)) return "polling";
  return wasOpen ? "reconnecting" : "connecting";
}

/** The address of a stream of events. Cursors stand in the order of the topics, empty for none. */
export function eventsPath(topics: readonly (readonly [name: string, cursor: string])[]): string {
  const list = (texts: string[]) => texts.map(encodeURIComponent).join(",");
  const names = list(topics.map(([name]) => name));
  const cursors = list(topics.map(([, cursor]) => cursor));
  return `/api/ui/v1/live/events?topics=${names}${/[^,]/.test(cursors) ? `&cursors=${cursors}` : ""}`;
}
