/**
 * Rows of a long list, read in pages of 200 as they come into view.
 *
 * The pages before and after the shown ones are read ahead. Twenty pages are kept, the ones that
 * were shown last. Requests for pages that nobody looks at any more are aborted.
 */
import type { Key, RowSource } from "./types";

export interface PageAnswer<R> {
  rows: R[];
  total: number;
}

export type FetchPage<R> = (
  offset: number,
  limit: number,
  signal: AbortSignal,
) => Promise<PageAnswer<R>>;

export const PAGE_ROWS = 200;
export const KEPT_PAGES = 20;

interface Page<R> {
  rows: R[];
  /** Of the refresh in which it was read. */
  age: number;
}

export class PagedRows<R> implements RowSource<R> {
  total: number | undefined;
  error: unknown;
  /** Milliseconds since the epoch of the last answer. */
  readAt = 0;
  private pages = new Map<number, Page<R>>();
  private flights = new Map<number, AbortController>();
  private wanted: [number, number] = [0, 0];
  private failed = new Set<number>();
  private age = 0;
  private version = 0;
  private listeners = new Set<() => void>();

  constructor(
    private readonly fetch: FetchPage<R>,
    private readonly keyOf: (row: R) => Key,
  ) {}

  rowAt(index: number): R | undefined {
    const page = this.pages.get(Math.floor(index / PAGE_ROWS));
    return page?.rows[index % PAGE_ROWS];
  }

  indexOf(key: Key): number {
    for (const [number, page] of this.pages) {
      const at = page.rows.findIndex((row) => this.keyOf(row) === key);
      if (at >= 0) return number * PAGE_ROWS + at;
    }
    return -1;
  }

  ensure(first: number, last: number): void {
    const from = Math.floor(first / PAGE_ROWS);
    const to = Math.max(from, Math.floor(last / PAGE_ROWS));
    this.wanted = [from, to];
    for (const [number, flight] of this.flights)
      if (number < from - 1 || number > to + 1) {
        flight.abort();
        this.flights.delete(number);
      }
    for (let number = from; number <= to; number += 1) {
      this.touch(number);
      void this.load(number);
    }
    // Neighbours wait until the first answer shows that they exist.
    if (this.total === undefined) return;
    void this.load(to + 1);
    if (from > 0) void this.load(from - 1);
  }

  async keysIn(first: number, last: number): Promise<Key[]> {
    const keys: Key[] = [];
    for (let at = first; at <= last; at += PAGE_ROWS - (at % PAGE_ROWS)) {
      const number = Math.floor(at / PAGE_ROWS);
      const rows =
        this.pages.get(number)?.rows ??
        (await this.fetch(number * PAGE_ROWS, PAGE_ROWS, new AbortController().signal)).rows;
      const end = Math.min(PAGE_ROWS, last + 1 - number * PAGE_ROWS);
      keys.push(...rows.slice(at % PAGE_ROWS, end).map(this.keyOf));
    }
    return keys;
  }

  /** Read what is shown again, in place: rows stay until their successors are there. */
  refresh(): void {
    this.age += 1;
    this.failed.clear();
    const [from, to] = this.wanted;
    for (const number of [...this.pages.keys()])
      if (number < from || number > to) this.pages.delete(number);
    this.flights.forEach((flight) => flight.abort());
    this.flights.clear();
    for (let number = from; number <= to; number += 1) void this.load(number);
  }

  retry(): void {
    this.error = undefined;
    this.refresh();
    this.changed();
  }

  /** Change a loaded row; false when it is not loaded. */
  patch(key: Key, change: (row: R) => R): boolean {
    for (const page of this.pages.values()) {
      const at = page.rows.findIndex((row) => this.keyOf(row) === key);
      if (at < 0) continue;
      const old = page.rows[at] as R;
      const next = change(old);
      if (next !== old) {
        page.rows = page.rows.with(at, next);
        this.changed();
      }
      return true;
    }
    return false;
  }

  /** The loaded rows, in no order that means anything. */
  *loaded(): Iterable<R> {
    for (const page of this.pages.values()) yield* page.rows;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  getVersion = (): number => this.version;

  private touch(number: number): void {
    const page = this.pages.get(number);
    if (!page) return;
    this.pages.delete(number);
    this.pages.set(number, page);
  }

  private async load(number: number): Promise<void> {
    if (this.flights.has(number) || this.failed.has(number)) return;
    if (this.pages.get(number)?.age === this.age) return;
    if (this.total !== undefined && number > 0 && number * PAGE_ROWS >= this.total) return;
    const flight = new AbortController();
    this.flights.set(number, flight);
    try {
      const answer = await this.fetch(number * PAGE_ROWS, PAGE_ROWS, flight.signal);
      if (!flight.signal.aborted) this.store(number, answer);
    } catch (error) {
      if (flight.signal.aborted) return;
      this.failed.add(number);
      this.error = error;
      this.changed();
    } finally {
      if (this.flights.get(number) === flight) this.flights.delete(number);
    }
  }

  private store(number: number, { rows, total }: PageAnswer<R>): void {
    const isFirst = this.total === undefined;
    // The master leaves out rows that it cannot show; the last page then ends earlier.
    const offset = number * PAGE_ROWS;
    const isLast = rows.length > 0 && total <= offset + PAGE_ROWS;
    this.total = isLast ? offset + rows.length : total;
    this.error = undefined;
    this.readAt = Date.now();
    this.pages.delete(number);
    this.pages.set(number, { rows, age: this.age });
    for (const oldest of this.pages.keys()) {
      if (this.pages.size <= KEPT_PAGES) break;
      this.pages.delete(oldest);
    }
    this.changed();
    if (isFirst) this.ensure(this.wanted[0] * PAGE_ROWS, this.wanted[1] * PAGE_ROWS);
  }

  private changed(): void {
    this.version += 1;
    this.listeners.forEach((each) => each());
  }
}
