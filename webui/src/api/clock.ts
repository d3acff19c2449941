/** The master's clock: that of this machine may be hours ahead or behind. */

/** The header has whole seconds, so a smaller difference is none. */
const LEAST_MS = 2000;
let aheadMs = 0;
const listeners = new Set<() => void>();

/** Milliseconds since the epoch, as the master counts them. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}

/**
 * Learn from an answer's `Date` header. An answer that a cache between kept tells nothing.
 *
 * @param sentAt when the request was sent, by this machine's clock.
 */
export function noteDate(headers: Headers, sentAt: number): void {
  const at = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(at) || headers.has("age")) return;
  const gotAt = Date.now();
  const found = at + 500 - (sentAt + gotAt) / 2;
  if (Math.abs(found - aheadMs) < LEAST_MS + (gotAt - sentAt) / 2) return;
  aheadMs = Math.abs(found) < LEAST_MS ? 0 : Math.round(found);
  listeners.forEach((listener) => listener());
}

/** Call a listener when the difference between the clocks turns out to be another. */
export function onClockChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
