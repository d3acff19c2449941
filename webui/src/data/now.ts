/** One clock for all relative times: components re-render together, once a tick. */
import { useSyncExternalStore } from "react";

import { onClockChange, serverNow } from "@/api/clock";

let now = serverNow();
let localNow = Date.now();
const listeners = new Set<() => void>();
let stop: (() => void) | undefined;

function tell(): void {
  now = serverNow();
  localNow = Date.now();
  listeners.forEach((each) => each());
}

function begin(): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) tell();
  }, 1000);
  const leave = onClockChange(tell);
  return () => {
    clearInterval(timer);
    leave();
  };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  stop ??= begin();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    stop?.();
    stop = undefined;
  };
}

/**
 * Milliseconds since the epoch by the master's clock, which all instants of answers are of; rounded
 * down to `step` ms, so that few components re-render.
 */
export function useNow(step = 1000): number {
  return useSyncExternalStore(subscribe, () => Math.floor(now / step) * step);
}

/** The same by this machine's clock, for what happened in the page. */
export function useLocalNow(step = 1000): number {
  return useSyncExternalStore(subscribe, () => Math.floor(localNow / step) * step);
}
