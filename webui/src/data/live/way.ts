/**
 * The way that last carried the live channel, kept for the session of the tab.
 *
 * Behind a proxy without WebSockets each load of a page would try them first, which takes seconds.
 * A new session begins with a WebSocket, so that a proxy that has learned them is noticed.
 */
import type { Way } from "./plan";

const KEY = "det-live-way";

/** The first way of a new connection. */
export function wayToBegin(): Way {
  return read() === "events" ? "events" : "socket";
}

export function rememberWay(way: Way): void {
  try {
    if (way === "events") sessionStorage.setItem(KEY, way);
    else sessionStorage.removeItem(KEY);
  } catch {
    // A browser may refuse storage: then each load begins with a WebSocket.
  }
}

function read(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}
