/**
 * One connection of the live channel: topics, each with the cursor of its last frame.
 *
 * It tries a WebSocket, then Server-Sent Events, then both in turn (`plan.ts`), and every new
 * attempt sends the cursors, so that no frame is missed. The master takes one subscription of a
 * topic on a connection; `channel.ts` gives a second one with its own cursor another connection.
 */
import { nextTransport, pauseMs, waitingMode, type LiveMode, type Transport } from "./plan";
import { firstTransport, rememberTransport } from "./transport";

export type Op = "snapshot" | "upsert" | "delete" | "append" | "reset" | "error";

export interface Frame {
  topic: string;
  seq?: number;
  cursor?: string;
  op: Op;
  data?: unknown;
}

export type Listener = (frame: Frame) => void;

export interface LiveStatus {
  mode: LiveMode;
  /** Milliseconds since the epoch of the last frame or heartbeat; 0 before the first. */
  heardAt: number;
  /** When the next attempt comes, 0 when none is due. */
  retryAt: number;
}

export interface Makers {
  socket(): WebSocket;
  events(topics: readonly (readonly [name: string, cursor: string])[]): EventSource;
}

interface Subscription {
  listeners: Set<Listener>;
  cursor: string | undefined;
  /** The master sends nothing more: the topic was refused, or its log has ended. */
  isEnded: boolean;
  /** The master has sent a frame of the topic, so it sends later ones too. */
  isConfirmed: boolean;
}

const OPEN = 1;
const SIGNED_OUT = 4401;
const WATCH_MS = 5000;
const HEARTBEAT_LIMIT_MS = 40_000;
/** A topic that the master cannot give now, as during its start, is asked for again. */
const AGAIN_MS = 2000;
/** An attempt that has no answer by then has failed. */
const OPEN_LIMIT_MS = 15_000;

export class LiveConnection {
  status: LiveStatus = { mode: "idle", heardAt: 0, retryAt: 0 };
  private topics = new Map<string, Subscription>();
  private socket: WebSocket | undefined;
  private events: EventSource | undefined;
  private failures = 0;
  private transport: Transport = firstTransport();
  private wasOpen = false;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private openTimer: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setInterval> | undefined;

  /** `onStatus` follows the status; `onRefused` is called when the master ends the session. */
  constructor(
    private readonly make: Makers,
    private readonly onStatus: () => void,
    private readonly onRefused: () => void,
  ) {}

  get size(): number {
    return this.topics.size;
  }

  has(name: string): boolean {
    return this.topics.has(name);
  }

  /** Whether the master has confirmed the topic. */
  isConfirmed(name: string): boolean {
    return this.topics.get(name)?.isConfirmed ?? false;
  }

  subscribe(name: string, listener: Listener, cursor?: string): () => void {
    const last = this.topics.get(name);
    if (last && !last.isEnded) {
      last.listeners.add(listener);
      return () => this.leave(name, last, listener);
    }
    const listeners = new Set([...(last?.listeners ?? []), listener]);
    const subscription: Subscription = { listeners, cursor, isEnded: false, isConfirmed: false };
    this.topics.set(name, subscription);
    this.announce("subscribe", name);
    return () => this.leave(name, subscription, listener);
  }

  /** Try now, in place of the next pause. */
  reconnect(): void {
    if (this.topics.size === 0) return;
    this.close("connecting");
    this.failures = 0;
    this.open();
  }

  close(mode: LiveMode): void {
    clearTimeout(this.retryTimer);
    this.drop();
    this.set({ mode, retryAt: 0 });
  }

  private leave(name: string, subscription: Subscription, listener: Listener): void {
    // A later subscription of the same name has taken over the listeners of one that had ended.
    const current = this.topics.get(name) ?? subscription;
    subscription.listeners.delete(listener);
    current.listeners.delete(listener);
    if (current.listeners.size > 0 || !this.topics.delete(name)) return;
    this.announce("unsubscribe", name);
    queueMicrotask(() => {
      if (this.topics.size === 0 && this.status.mode !== "idle") this.close("idle");
    });
  }

  private announce(op: "subscribe" | "unsubscribe", name: string): void {
    if (this.socket?.readyState === OPEN) this.send(op, name);
    else if (this.events) this.reopenEvents();
    else if (op === "subscribe" && (this.status.mode === "idle" || this.status.mode === "sse")) this.open();
  }

  private send(op: "subscribe" | "unsubscribe", name: string): void {
    const cursor = op === "subscribe" ? this.topics.get(name)?.cursor : undefined;
    this.socket?.send(JSON.stringify({ op, topic: name, ...(cursor ? { cursor } : {}) }));
  }

  private open(): void {
    clearTimeout(this.retryTimer);
    this.set({ mode: waitingMode(this.failures, this.wasOpen), retryAt: 0 });
    try {
      if (nextTransport(this.failures, this.transport) === "events") this.openEvents();
      else this.openSocket();
    } catch {
      this.failed();
    }
  }

  private openSocket(): void {
    const socket = this.make.socket();
    this.socket = socket;
    this.limit();
    socket.onopen = () => {
      if (this.socket !== socket) return;
      this.succeeded("socket");
      for (const [name] of this.activeTopics()) this.send("subscribe", name);
    };
    socket.onmessage = (message) => {
      if (this.socket === socket) this.receive(String(message.data));
    };
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      if (code === SIGNED_OUT) this.refused();
      else this.failed();
    };
  }

  private openEvents(): void {
    const topics = this.activeTopics();
    if (topics.length === 0) return;
    const events = this.make.events(topics.map(([name, { cursor }]) => [name, cursor ?? ""] as const));
    this.events = events;
    this.limit();
    events.onopen = () => {
      if (this.events === events) this.succeeded("events");
    };
    events.onmessage = (message) => {
      if (this.events === events) this.receive(String(message.data));
    };
    // The browser would connect again with the first cursors.
    events.onerror = () => {
      if (this.events !== events) return;
      this.drop();
      // A stream ends when all of its topics have ended.
      if (this.activeTopics().length > 0 || this.status.mode !== "sse") this.failed();
    };
  }

  /** Several topics that come at once, as with a new page, change the stream once. */
  private reopenEvents(): void {
    const events = this.events;
    queueMicrotask(() => {
      if (!events || this.events !== events) return;
      this.drop();
      this.openEvents();
    });
  }

  private limit(): void {
    clearTimeout(this.openTimer);
    this.openTimer = setTimeout(() => this.failed(), OPEN_LIMIT_MS);
  }

  private activeTopics(): [string, Subscription][] {
    return [...this.topics].filter(([, { isEnded }]) => !isEnded);
  }

  private succeeded(transport: Transport): void {
    clearTimeout(this.openTimer);
    this.failures = 0;
    this.transport = transport;
    rememberTransport(transport);
    this.wasOpen = true;
    this.set({ mode: transport === "socket" ? "live" : "sse", heardAt: Date.now(), retryAt: 0 });
    this.watch();
  }

  private failed(): void {
    this.drop();
    this.failures += 1;
    const pause = pauseMs(this.failures);
    this.set({ mode: waitingMode(this.failures, this.wasOpen), retryAt: Date.now() + pause });
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => this.open(), pause);
  }

  private refused(): void {
    this.close("idle");
    this.onRefused();
  }

  /** A connection that is open but silent for longer than two heartbeats is given up. */
  private watch(): void {
    clearInterval(this.watchdog);
    this.watchdog = setInterval(() => {
      if (Date.now() - this.status.heardAt > HEARTBEAT_LIMIT_MS) this.failed();
    }, WATCH_MS);
  }

  private drop(): void {
    clearTimeout(this.openTimer);
    clearInterval(this.watchdog);
    const { socket, events } = this;
    this.socket = undefined;
    this.events = undefined;
    socket?.close();
    events?.close();
  }

  private receive(text: string): void {
    this.status = { ...this.status, heardAt: Date.now() };
    const frame = JSON.parse(text) as Frame;
    if (!frame.topic) {
      if (frame.op === "error" && codeOf(frame) === 401) this.refused();
      return;
    }
    const subscription = this.topics.get(frame.topic);
    if (!subscription) return;
    if (frame.op === "error" && isPassing(codeOf(frame))) {
      setTimeout(() => this.again(frame.topic, subscription), AGAIN_MS);
      return;
    }
    subscription.isConfirmed = true;
    if (frame.cursor) subscription.cursor = frame.cursor;
    if (frame.op === "error" || hasEnded(frame)) subscription.isEnded = true;
    [...subscription.listeners].forEach((listener) => listener(frame));
  }

  private again(name: string, subscription: Subscription): void {
    if (this.topics.get(name) === subscription && !subscription.isEnded) this.announce("subscribe", name);
  }

  private set(change: Partial<LiveStatus>): void {
    this.status = { ...this.status, ...change };
    this.onStatus();
  }
}

function codeOf({ data }: Frame): unknown {
  return (data as { code?: unknown } | undefined)?.code;
}

/** Too much at once, or a fault of the master: not a word about the topic. */
function isPassing(code: unknown): boolean {
  return typeof code === "number" && (code === 429 || code >= 500);
}

function hasEnded({ data }: Frame): boolean {
  return (data as { ended?: unknown } | undefined)?.ended === true;
}
