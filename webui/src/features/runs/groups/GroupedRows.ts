/**
 * Rows of a list in groups: a head for each group, and under an open one its runs, read in pages.
 *
 * All heads are in memory; runs are read as they come into view. The place of a row follows from
 * the numbers of runs, so the whole list has its height at once.
 */
import type { Sort } from "@/data/view/tableState";
import { PagedRows, type FetchPage } from "@/ui/table/pagedRows";
import type { Key, RowSource } from "@/ui/table/types";

import { headOf, type Item } from "../item";
import { sortGroups, type Group, type Groups } from "./figures";

interface Place {
  start: number;
  head: Item;
  runs: PagedRows<Item> | undefined;
  /** The head and the runs under it. */
  count: number;
}

export interface GroupReads {
  by: string;
  groups(columns: readonly string[], signal: AbortSignal): Promise<Groups>;
  pages(group: Group): FetchPage<Item>;
}

export const keyOfItem = (item: Item): Key => (item.group ? `group ${item.group.key}` : item.id);

export class GroupedRows implements RowSource<Item> {
  error: unknown;
  readAt = 0;
  private found: Groups | undefined;
  private places: Place[] | undefined;
  private runs = new Map<string, PagedRows<Item>>();
  private open: ReadonlySet<string> = new Set();
  private columns: readonly string[] = [];
  private read = new Set<string>();
  private sort: readonly Sort[] = [];
  private flight: AbortController | undefined;
  private wanted: readonly [number, number] = [0, 0];
  private version = 0;
  private listeners = new Set<() => void>();

  constructor(private readonly reads: GroupReads) {}

  get total(): number | undefined {
    const last = this.places?.at(-1);
    return last ? last.start + last.count : this.places && 0;
  }

  get groups(): Groups | undefined {
    return this.found;
  }

  /** What is summed up, in which order the heads stand, and which are open. */
  configure(columns: readonly string[], sort: readonly Sort[], open: ReadonlySet<string>): void {
    if (JSON.stringify(sort) !== JSON.stringify(this.sort)) this.runs.clear();
    this.sort = sort;
    this.open = open;
    this.columns = columns;
    if (this.found) this.arrange();
    if (!this.found || columns.some((column) => !this.read.has(column))) void this.load();
  }

  rowAt(index: number): Item | undefined {
    const place = this.placeAt(index);
    if (!place) return undefined;
    return index === place.start ? place.head : place.runs?.rowAt(index - place.start - 1);
  }

  ensure(first: number, last: number): void {
    this.wanted = [first, last];
    for (const { start, runs, count } of this.between(first, last)) {
      if (!runs) continue;
      runs.ensure(Math.max(0, first - start - 1), Math.max(0, Math.min(count - 2, last - start - 1)));
    }
  }

  /** Of runs only: heads cannot be selected. */
  async keysIn(first: number, last: number): Promise<Key[]> {
    const keys: Key[] = [];
    for (const { start, runs, count } of this.between(first, last)) {
      const [from, to] = [Math.max(0, first - start - 1), Math.min(count - 2, last - start - 1)];
      if (runs && to >= from) keys.push(...(await runs.keysIn(from, to)));
    }
    return keys;
  }

  indexOf(key: Key): number {
    for (const { start, head, runs } of this.places ?? []) {
      if (keyOfItem(head) === key) return start;
      const at = runs?.indexOf(key) ?? -1;
      if (at >= 0) return start + 1 + at;
    }
    return -1;
  }

  refresh(): void {
    for (const [key, runs] of this.runs)
      if (this.open.has(key)) runs.refresh();
      else this.runs.delete(key);
    void this.load();
  }

  retry(): void {
    this.error = undefined;
    this.refresh();
    this.changed();
  }

  patch(key: Key, change: (item: Item) => Item): boolean {
    return [...this.runs.values()].some((runs) => runs.patch(key, change));
  }

  *loaded(): Iterable<Item> {
    for (const runs of this.runs.values()) yield* runs.loaded();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  getVersion = (): number => this.version;

  private async load(): Promise<void> {
    this.flight?.abort();
    const flight = new AbortController();
    this.flight = flight;
    const columns = this.columns;
    try {
      const found = await this.reads.groups(columns, flight.signal);
      if (flight.signal.aborted) return;
      this.found = found;
      this.read = new Set(columns);
      this.readAt = Date.now();
      this.error = undefined;
      this.arrange();
    } catch (error) {
      if (flight.signal.aborted) return;
      this.error = error;
      this.changed();
    }
  }

  private arrange(): void {
    let start = 0;
    this.places = sortGroups(this.found?.groups ?? [], this.reads.by, this.sort).map((group) => {
      const isOpen = this.open.has(group.key);
      const runs = isOpen ? this.runsOf(group) : undefined;
      const count = 1 + (isOpen ? (runs?.total ?? group.runs) : 0);
      const place = { start, head: headOf(group, isOpen), runs, count };
      start += count;
      return place;
    });
    // Other rows may stand in the range in sight.
    this.ensure(...this.wanted);
    this.changed();
  }

  private runsOf(group: Group): PagedRows<Item> {
    const known = this.runs.get(group.key);
    if (known) return known;
    const runs = new PagedRows<Item>(this.reads.pages(group), (item) => item.id);
    let total = group.runs;
    runs.subscribe(() => {
      if (this.runs.get(group.key) !== runs) return;
      // A run that came or went since the heads were read moves what stands below.
      if (runs.total === undefined || runs.total === total) this.changed();
      else {
        total = runs.total;
        this.arrange();
      }
    });
    this.runs.set(group.key, runs);
    return runs;
  }

  private placeAt(index: number): Place | undefined {
    const places = this.places ?? [];
    let [low, high] = [0, places.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((places[middle] as Place).start <= index) low = middle;
      else high = middle - 1;
    }
    const place = places[low];
    return place && index >= place.start && index < place.start + place.count ? place : undefined;
  }

  private between(first: number, last: number): Place[] {
    return (this.places ?? []).filter(({ start, count }) => start <= last && start + count > first);
  }

  private changed(): void {
    this.version += 1;
    this.listeners.forEach((each) => each());
  }
}

/** The source of a list that is not grouped. */
export const NO_ROWS: RowSource<Item> = {
  total: undefined,
  error: undefined,
  rowAt: () => undefined,
  ensure: () => undefined,
  keysIn: async () => [],
  indexOf: () => -1,
  subscribe: () => () => undefined,
  getVersion: () => 0,
  retry: () => undefined,
};
