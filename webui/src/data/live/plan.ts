/** Which way a connection takes next, how long it waits before, and what the page says meanwhile. */

/** A WebSocket, or the same frames as Server-Sent Events. */
export type Way = "socket" | "events";

/** `connecting` is the first attempt; `reconnecting` follows a lost connection. */
export type LiveMode = "idle" | "connecting" | "live" | "sse" | "reconnecting" | "polling";

/** So often a WebSocket is tried before Server-Sent Events; then both take turns. */
export const SOCKET_ATTEMPTS = 2;
/** After so many failures in a row the page stops to call itself interrupted: queries poll. */
export const GIVEN_UP = 8;
const FIRST_PAUSE_MS = 500;
const MOST_PAUSE_MS = 15_000;

/**
 * The way of the next attempt, after `failures` in a row. It begins with the way that carried the
 * last connection: behind a proxy without WebSockets, events come back at once.
 */
export function nextWay(failures: number, last: Way): Way {
  const turn = last === "events" ? failures : failures - SOCKET_ATTEMPTS;
  return turn >= 0 && turn % 2 === 0 ? "events" : "socket";
}

/** Milliseconds before the next attempt. */
export function pauseMs(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures, 6), MOST_PAUSE_MS);
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
