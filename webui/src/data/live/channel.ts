/** The live channel of a tab: as few connections as carry all topics with their cursors. */
import { LiveConnection, type Listener, type LiveStatus, type Makers } from "./connection";
import type { LiveMode } from "./plan";

/** The master takes 64 topics on a connection. */
export const MAX_TOPICS = 60;

export class LiveChannel {
  /** The first stays; its status is that of the channel. */
  private readonly connections: LiveConnection[];
  private readonly statusListeners = new Set<() => void>();
  private refused: (() => void) | undefined;

  constructor(private readonly make: Makers) {
    this.connections = [this.connection()];
  }

  /** Called when the master ends the session. The answer takes the listener away. */
  onRefused(listener: () => void): () => void {
    this.refused = listener;
    return () => {
      if (this.refused === listener) this.refused = undefined;
    };
  }

  /**
   * Frames of a topic, until the answer is called.
   *
   * Subscribers without a cursor share the topic's frames from now on. One with a cursor gets all
   * frames after it, whoever else has the topic: it shares no subscription.
   */
  subscribe(name: string, listener: Listener, cursor?: string): () => void {
    const connection = this.placeOf(name, cursor);
    const leave = connection.subscribe(name, listener, cursor);
    return () => {
      leave();
      queueMicrotask(() => this.forget(connection));
    };
  }

  /** Whether all that happens to a topic from now on comes to those who subscribe to it. */
  isConfirmed(name: string): boolean {
    return this.connections.some((each) => each.isConfirmed(name));
  }

  getStatus = (): LiveStatus => this.first.status;

  watchStatus = (listener: () => void): (() => void) => {
    this.statusListeners.add(listener);
    return () => this.statusListeners.delete(listener);
  };

  /** Try now, in place of the next pause. */
  reconnect(): void {
    this.connections.forEach((each) => each.reconnect());
  }

  /** Open what was closed; connections that are open stay. */
  wake(): void {
    this.connections.filter(({ status }) => status.mode === "idle").forEach((each) => each.reconnect());
  }

  close(mode: LiveMode): void {
    this.connections.forEach((each) => each.close(mode));
  }

  private get first(): LiveConnection {
    return this.connections[0] as LiveConnection;
  }

  private placeOf(name: string, cursor: string | undefined): LiveConnection {
    const shared = cursor === undefined && this.connections.find((each) => each.has(name));
    const free = () => this.connections.find((each) => !each.has(name) && each.size < MAX_TOPICS);
    return shared || (free() ?? this.added());
  }

  private added(): LiveConnection {
    const connection = this.connection();
    this.connections.push(connection);
    return connection;
  }

  private forget(connection: LiveConnection): void {
    const at = this.connections.indexOf(connection);
    if (at > 0 && connection.size === 0) this.connections.splice(at, 1);
  }

  private connection(): LiveConnection {
    const made: LiveConnection = new LiveConnection(
      this.make,
      () => {
        if (made === this.first) this.statusListeners.forEach((listener) => listener());
      },
      () => {
        this.close("idle");
        this.refused?.();
      },
    );
    return made;
  }
}
