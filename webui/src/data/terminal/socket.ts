import { BASE_PATH } from "@/api/client";

/** A WebSocket to a new login shell in a shell. */
export function shellSocket(id: string): WebSocket {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(`${scheme}//${location.host}${BASE_PATH}/api/ui/v1/shells/${encodeURIComponent(id)}/terminal`);
}
