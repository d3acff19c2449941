/** The rows and columns in sight (TanStack Virtual), and the way to others. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, type RefObject } from "react";

import type { RowSource } from "./types";
import { HEAD_HEIGHT, type Layout, type Placed } from "./useLayout";

const OVERSCAN_ROWS = 6;
const OVERSCAN_COLUMNS = 2;
const AT_PAUSE_MS = 300;

export function useWindow<R>({
  scroll,
  source,
  total,
  height,
  layout,
  at,
  onAt,
  onViewport,
}: {
  scroll: RefObject<HTMLDivElement | null>;
  source: RowSource<R>;
  total: number;
  height: number;
  layout: Layout<R>;
  at: number | undefined;
  onAt: ((index: number) => void) | undefined;
  onViewport(width: number): void;
}) {
  const rows = useVirtualizer({
    count: total,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    overscan: OVERSCAN_ROWS,
    paddingStart: HEAD_HEIGHT,
    scrollPaddingStart: HEAD_HEIGHT,
    initialRect: { width: 1024, height: 600 },
  });
  const columns = useVirtualizer({
    horizontal: true,
    count: layout.free.length,
    getScrollElement: () => scroll.current,
    estimateSize: (index) => layout.free[index]?.width ?? 0,
    getItemKey: (index) => layout.free[index]?.column.id ?? index,
    overscan: OVERSCAN_COLUMNS,
    paddingStart: layout.pinnedEnd,
    initialRect: { width: 1024, height: 600 },
  });
  useLayoutEffect(() => rows.measure(), [rows, height]);
  useLayoutEffect(() => columns.measure(), [columns, layout]);
  useViewportWidth(scroll, onViewport);

  const shown = rows.getVirtualItems();
  const [first, last] = [shown[0]?.index ?? 0, shown.at(-1)?.index ?? -1];
  useEffect(() => {
    if (last >= first) source.ensure(first, last);
  }, [source, first, last]);
  useStartAt(at, source.total !== undefined, (index) => rows.scrollToIndex(index, { align: "start" }));
  useReportAt(Math.max(0, Math.floor((rows.scrollOffset ?? 0) / height)), onAt);

  // Elements are used again for the rows that scroll in: making new ones costs twice the frame.
  const slots = useRef(0);
  slots.current = Math.max(slots.current, shown.length);

  const across = columns.getVirtualItems();
  const [from, to] = [across[0]?.index ?? 0, (across.at(-1)?.index ?? -1) + 1];
  const inSight = useMemo<readonly Placed<R>[]>(() => layout.free.slice(from, to), [layout, from, to]);
  const room = (scroll.current?.clientHeight ?? 600) - HEAD_HEIGHT;
  return {
    rows: shown.map(({ index, start }) => ({ index, top: start, slot: index % slots.current })),
    columns: inSight,
    totalHeight: rows.getTotalSize(),
    pageRows: Math.max(1, Math.floor(room / height) - 1),
    isShown: (index: number) => index >= first && index <= last,
    goTo: (index: number) => rows.scrollToIndex(index, { align: "auto" }),
  };
}

function useViewportWidth(scroll: RefObject<HTMLDivElement | null>, report: (width: number) => void) {
  useLayoutEffect(() => {
    const element = scroll.current;
    if (!element) return;
    report(element.clientWidth);
    if (typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(() => report(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroll, report]);
}

/** Scroll to the row of the address once the list is there. */
function useStartAt(at: number | undefined, isReady: boolean, go: (index: number) => void): void {
  const done = useRef(!at);
  useEffect(() => {
    if (done.current || !isReady || at === undefined) return;
    done.current = true;
    go(at);
  });
}

function useReportAt(top: number, onAt: ((index: number) => void) | undefined): void {
  const report = useRef(onAt);
  const reported = useRef(top);
  useEffect(() => {
    report.current = onAt;
  });
  useEffect(() => {
    if (top === reported.current) return;
    const timer = setTimeout(() => {
      reported.current = top;
      report.current?.(top);
    }, AT_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [top]);
}
