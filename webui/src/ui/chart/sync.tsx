/**
 * The cursor and the zoom that all charts of a page share.
 *
 *     <ChartSyncProvider range={range} onRange={setRange}>…charts…</ChartSyncProvider>
 *
 * `range` is the zoom of x kept in the address; without the provider each chart has its own.
 * Charts share only with those of the same axis.
 */
import {
  createContext,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
  type ReactNode,
} from "react";

import type { Range } from "./types";

export interface SharedCursor {
  x: number;
  axis: string;
  /** The chart that the pointer is over. */
  source: symbol;
}

export class ChartSync {
  cursor: SharedCursor | undefined;
  private ranges = new Map<string, Range>();
  private cursorListeners = new Set<() => void>();
  private rangeListeners = new Set<() => void>();
  onRange: ((range: Range | undefined, axis: string) => void) | undefined;

  setCursor(cursor: SharedCursor | undefined): void {
    if (cursor === this.cursor) return;
    this.cursor = cursor;
    this.cursorListeners.forEach((each) => each());
  }

  range(axis: string): Range | undefined {
    return this.ranges.get(axis);
  }

  setRange(axis: string, range: Range | undefined, quiet = false): void {
    const old = this.ranges.get(axis);
    if (old?.[0] === range?.[0] && old?.[1] === range?.[1]) return;
    if (range) this.ranges.set(axis, range);
    else this.ranges.delete(axis);
    this.rangeListeners.forEach((each) => each());
    if (!quiet) this.onRange?.(range, axis);
  }

  watchCursor = (listener: () => void): (() => void) => {
    this.cursorListeners.add(listener);
    return () => this.cursorListeners.delete(listener);
  };

  watchRange = (listener: () => void): (() => void) => {
    this.rangeListeners.add(listener);
    return () => this.rangeListeners.delete(listener);
  };
}

const Context = createContext<ChartSync | undefined>(undefined);

export function ChartSyncProvider({
  axis = "batches",
  range,
  onRange,
  children,
}: {
  /** The axis that `range` belongs to. */
  axis?: string;
  range?: Range | undefined;
  onRange?: (range: Range | undefined, axis: string) => void;
  children: ReactNode;
}) {
  const sync = useMemo(() => new ChartSync(), []);
  const controlled = onRange !== undefined;
  const from = range?.[0];
  const to = range?.[1];
  useEffect(() => {
    sync.onRange = onRange;
  }, [sync, onRange]);
  useEffect(() => {
    if (!controlled) return;
    sync.setRange(axis, from === undefined || to === undefined ? undefined : [from, to], true);
  }, [sync, controlled, axis, from, to]);
  return <Context value={sync}>{children}</Context>;
}

/** The page's sync, or one of the chart's own. */
export function useChartSync(): ChartSync {
  const shared = useContext(Context);
  const own = useRef<ChartSync>(undefined);
  if (shared) return shared;
  own.current ??= new ChartSync();
  return own.current;
}

export function useSharedRange(sync: ChartSync, axis: string): Range | undefined {
  return useSyncExternalStore(sync.watchRange, () => sync.range(axis));
}
