/**
 * The connection of a terminal to the login shell of a shell (`docs/ui-api.md`, "Terminals").
 *
 * A connection that drops is opened again after a pause, with a new login shell: the old one has
 * ended with it.
 */
import { pauseMs } from "../live/plan";

export type TerminalState = "connecting" | "open" | "waiting" | "ended";

export interface TerminalStatus {
  state: TerminalState;
  /** Why the last login shell ended; empty before. */
  reason: string;
  /** Milliseconds since the epoch of the next attempt, in state `waiting`. */
  retryAt: number;
}

export interface TerminalSize {
  columns: number;
  rows: number;
}

export interface TerminalEvents {
  onOutput(bytes: Uint8Array): void;
  onStatus(status: TerminalStatus): void;
  /** A login shell follows another one. */
  onSession(): void;
}

export const CLOSES = { ended: 1000, again: 1013, signedOut: 4401, refused: 4403, notRunning: 4410 } as const;
const FINAL = new Set<number>([CLOSES.ended, 1008, 1009, 1011, CLOSES.signedOut, CLOSES.refused, CLOSES.notRunning]);
const OPEN = 1;
/** The master takes 64 KiB at once. */
export const MAX_PIECE_BYTES = 32 * 1024;
export const LOST = "The connection was lost. The programs of this terminal have ended.";
export const CLOSED = "The terminal has ended.";

const text = new TextEncoder();

export class TerminalSession {
  status: TerminalStatus = { state: "ended", reason: "", retryAt: 0 };
  private socket: WebSocket | undefined;
  private size: TerminalSize = { columns: 80, rows: 24 };
  private failures = 0;
  private sessions = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly make: () => WebSocket,
    private readonly events: TerminalEvents,
  ) {}

  /** Open a new login shell, in place of the current one. */
  open(): void {
    this.close();
    this.set({ state: "connecting", reason: this.status.reason, retryAt: 0 });
    const socket = this.make();
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    let reason = "";
    socket.onopen = () => {
      if (this.socket === socket) socket.send(JSON.stringify(this.size));
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (this.socket !== socket) return;
      if (typeof data === "string") reason = reasonOf(data);
      else this.receive(new Uint8Array(data));
    };
    socket.onclose = ({ code }) => {
      if (this.socket === socket) this.closed(code, reason);
    };
  }

  /** End the login shell; no other follows. */
  close(): void {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
  }

  /** What was typed or pasted. It is lost while no login shell is there. */
  type(input: string): void {
    this.sendBytes(text.encode(input));
  }

  /** Bytes that are no text, such as reports of the mouse: a character for each. */
  typeBinary(input: string): void {
    this.sendBytes(Uint8Array.from(input, (each) => each.charCodeAt(0)));
  }

  resize(size: TerminalSize): void {
    if (size.columns === this.size.columns && size.rows === this.size.rows) return;
    this.size = size;
    if (this.socket?.readyState === OPEN) this.socket.send(JSON.stringify(size));
  }

  private sendBytes(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.socket?.readyState !== OPEN) return;
    for (let at = 0; at < bytes.length; at += MAX_PIECE_BYTES)
      this.socket.send(bytes.subarray(at, at + MAX_PIECE_BYTES));
  }

  private receive(bytes: Uint8Array): void {
    if (this.status.state !== "open") {
      this.failures = 0;
      this.sessions += 1;
      if (this.sessions > 1) this.events.onSession();
      this.set({ state: "open", reason: "", retryAt: 0 });
    }
    this.events.onOutput(bytes);
  }

  private closed(code: number, reason: string): void {
    this.socket = undefined;
    if (FINAL.has(code)) {
      this.set({ state: "ended", reason: reason || CLOSED, retryAt: 0 });
      return;
    }
    this.failures += 1;
    const pause = pauseMs(this.failures);
    this.timer = setTimeout(() => this.open(), pause);
    this.set({ state: "waiting", reason: reason || LOST, retryAt: Date.now() + pause });
  }

  private set(status: TerminalStatus): void {
    this.status = status;
    this.events.onStatus(status);
  }
}

function reasonOf(message: string): string {
  try {
    const { reason } = JSON.parse(message) as { reason?: unknown };
    return typeof reason === "string" ? reason : "";
  } catch {
    return "";
  }
}
