/** The loaded part of a log: pages at both ends, and the lines that come while one looks. */
import type { LogLine, LogSource } from "./types";

export const PAGE = 1000;
/** Lines kept; beyond it the oldest leave, and can be loaded again. */
export const KEPT = 200_000;

export type Change = "reset" | "prepend" | "append" | "state";

export interface FeedState {
  lines: readonly LogLine[];
  hasOlder: boolean;
  hasNewer: boolean;
  loading: "older" | "newer" | undefined;
  /** The log has ended: no line will come. */
  ended: boolean;
  error: unknown;
}

type Listener = (change: Change, added: readonly LogLine[]) => void;

export class LogFeed {
  state: FeedState = {
    lines: [],
    hasOlder: true,
    hasNewer: false,
    loading: undefined,
    ended: false,
    error: undefined,
  };
  private lines: LogLine[] = [];
  private ids = new Set<string>();
  private stop: (() => void) | undefined;
  private stopped = false;
  private pending: LogLine[] = [];
  private frame: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly source: LogSource,
    private readonly listener: Listener,
    private readonly kept = KEPT,
  ) {}

  /** The newest page, then the lines that follow it. */
  async openAtEnd(): Promise<void> {
    this.clear();
    await this.load("older", () => this.source.loadBefore(undefined, PAGE));
    if (this.state.error === undefined) this.followOn();
  }

  /** The oldest page. */
  async openAtStart(): Promise<void> {
    this.clear();
    this.set({ hasNewer: true, hasOlder: false });
    await this.load("newer", () => this.source.loadAfter(undefined, PAGE));
  }

  /** The lines around one that is known. */
  async openAround(line: LogLine): Promise<void> {
    this.clear();
    this.add([line], "append");
    this.set({ hasNewer: true, hasOlder: true });
    await this.older();
    await this.newer();
  }

  async older(): Promise<void> {
    if (!this.state.hasOlder) return;
    await this.load("older", () => this.source.loadBefore(this.lines[0], PAGE));
  }

  async newer(): Promise<void> {
    if (!this.state.hasNewer) return;
    await this.load("newer", () => this.source.loadAfter(this.lines[this.lines.length - 1], PAGE));
    if (!this.state.hasNewer && this.state.error === undefined) this.followOn();
  }

  close(): void {
    this.stopped = true;
    this.stop?.();
    this.stop = undefined;
    clearTimeout(this.frame);
  }

  private async load(end: "older" | "newer", ask: () => Promise<{ lines: LogLine[]; end: boolean }>): Promise<void> {
    if (this.state.loading) return;
    this.set({ loading: end, error: undefined });
    try {
      const page = await ask();
      if (this.stopped) return;
      this.set({
        loading: undefined,
        ...(end === "older" ? { hasOlder: !page.end } : { hasNewer: !page.end }),
      });
      this.add(page.lines, end === "older" ? "prepend" : "append");
    } catch (error) {
      if (!this.stopped) this.set({ loading: undefined, error });
    }
  }

  private followOn(): void {
    if (this.stop || this.stopped || this.state.ended || !this.source.follow) return;
    this.stop = this.source.follow(
      this.lines[this.lines.length - 1],
      (lines) => this.receive(lines),
      () => this.set({ ended: true }),
    );
  }

  /** Lines that come within 50 ms are shown together. */
  private receive(lines: readonly LogLine[]): void {
    for (const line of lines) this.pending.push(line);
    this.frame ??= setTimeout(() => {
      this.frame = undefined;
      const batch = this.pending;
      this.pending = [];
      if (!this.stopped) this.add(batch, "append");
    }, 50);
  }

  private add(lines: readonly LogLine[], change: "prepend" | "append"): void {
    const fresh = lines.filter((line) => !this.ids.has(line.id));
    if (fresh.length === 0) {
      this.listener("state", []);
      return;
    }
    for (const line of fresh) this.ids.add(line.id);
    if (change === "prepend") this.lines = [...fresh, ...this.lines];
    else for (const line of fresh) this.lines.push(line);
    const trimmed = change === "append" && this.trim();
    this.state = { ...this.state, lines: this.lines };
    this.listener(trimmed ? "reset" : change, fresh);
  }

  /** A tenth leaves at once, so that trimming is rare. */
  private trim(): boolean {
    if (this.lines.length <= this.kept) return false;
    const gone = this.lines.splice(0, this.lines.length - Math.floor(this.kept * 0.9));
    for (const line of gone) this.ids.delete(line.id);
    this.state = { ...this.state, hasOlder: true };
    return true;
  }

  private clear(): void {
    this.stop?.();
    this.stop = undefined;
    this.lines = [];
    this.ids.clear();
    this.pending = [];
    this.state = { lines: [], hasOlder: true, hasNewer: false, loading: undefined, ended: false, error: undefined };
    this.listener("reset", []);
  }

  private set(change: Partial<FeedState>): void {
    this.state = { ...this.state, ...change };
    this.listener("state", []);
  }
}
