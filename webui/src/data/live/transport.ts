/**
 * The last transport of the live channel, kept for the session of the tab.
 *
 * Behind a proxy without WebSockets each load of a page would try them first, which takes seconds.
 * A new session begins with a WebSocket, so that a proxy that has learned them is noticed.
 */
import type { Transport } from "./plan";

const KEY = "det-live-transport";

/** The first transport of a new connection. */
export function firstTransport(): Transport {
  return read() === "events" ? "events" : "socket";
}

export function rememberTransport(transport: Transport): void {
  try {
    if (transport === "events") sessionStorage.setItem(KEY, transport);
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
