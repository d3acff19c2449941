/**
 * The live channel of this tab: one WebSocket, `docs/live-channel.md`.
 *
 * Where no WebSocket can be opened the same frames come over Server-Sent Events, and where those
 * fail too, `mode` is `polling` and queries poll by themselves.
 */
import { useEffect, useRef, useSyncExternalStore } from "react";

import { BASE_PATH } from "@/api/client";

import { LiveChannel } from "./live/channel";
import type { Frame, LiveStatus } from "./live/connection";
import { eventsPath } from "./live/plan";

export type { Frame, LiveStatus, Op } from "./live/connection";
export type { LiveMode } from "./live/plan";

const HIDDEN_CLOSE_MS = 30_000;

function socketUrl(): string {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}${BASE_PATH}/api/ui/v1/live`;
}

export const live = new LiveChannel({
  socket: () => new WebSocket(socketUrl()),
  events: (topics) => new EventSource(BASE_PATH + eventsPath(topics), { withCredentials: true }),
});

let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(() => live.close("idle"), HIDDEN_CLOSE_MS);
  else live.wake();
});

/** Subscribe while the component lives; `undefined` subscribes to nothing. */
export function useTopic(topic: string | undefined, listener: (frame: Frame) => void): void {
  const current = useRef(listener);
  useEffect(() => {
    current.current = listener;
  });
  useEffect(() => {
    if (!topic) return;
    return live.subscribe(topic, (frame) => current.current(frame));
  }, [topic]);
}

export function useLiveStatus(): LiveStatus {
  return useSyncExternalStore(live.watchStatus, live.getStatus);
}

/** Poll only while no live channel carries changes. */
export function usePollInterval(ms: number): number | false {
  const { mode } = useLiveStatus();
  return mode === "live" || mode === "sse" ? false : ms;
}
