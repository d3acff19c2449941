/** The scroll position of a log: which rows are in view, following the end, paging at both ends. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

import { LINE_HEIGHT } from "./LogRow";
import type { LogModel } from "./useLog";

/** Pixels from an end at which the next page is loaded. */
const NEAR = 600;

export function useLogScroll(model: LogModel, onColumns: (columns: number) => void) {
  const { rows, feed } = model;
  const box = useRef<HTMLDivElement>(null);
  const ruler = useRef<HTMLSpanElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [following, setFollowing] = useState(true);
  const lastTop = useRef(0);
  const seen = useRef(0);

  const place = useCallback((top: number) => {
    const element = box.current;
    if (!element) return;
    element.scrollTop = top;
    lastTop.current = element.scrollTop;
    setView((old) => (old.top === element.scrollTop ? old : { ...old, top: element.scrollTop }));
  }, []);

  useEffect(() => {
    setFollowing(true);
    seen.current = 0;
  }, [model]);

  // The rows are in the document now: hold the place, or follow the end.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (model.grownAbove !== 0) {
      const grown = model.grownAbove * LINE_HEIGHT;
      model.grownAbove = 0;
      if (!following) place(element.scrollTop + grown);
    }
    if (following) {
      seen.current = feed.state.lines.length;
      if (element.scrollHeight - element.clientHeight - element.scrollTop > 1) place(element.scrollHeight);
    }
  }, [model, model.version, feed, following, place, view.height]);

  useEffect(() => {
    const element = box.current;
    if (!element || typeof ResizeObserver === "undefined") return;
    const measure = () => {
      setView((old) => ({ ...old, height: element.clientHeight }));
      const sign = (ruler.current?.getBoundingClientRect().width ?? 0) / 50;
      const gutter = parseFloat(getComputedStyle(element).getPropertyValue("--gutter")) || 0;
      if (sign > 0) onColumns(Math.max(8, Math.floor((element.clientWidth - gutter) / sign)));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [onColumns, model.ranks.size]);

  const onScroll = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const rest = scrollHeight - clientHeight - scrollTop;
    if (scrollTop < lastTop.current - 2 && rest > 2) setFollowing(false);
    else if (rest <= 2 && !feed.state.hasNewer) setFollowing(true);
    lastTop.current = scrollTop;
    setView((old) => ({ ...old, top: scrollTop }));
    if (scrollTop < NEAR && feed.state.hasOlder) void feed.older();
    if (rest < NEAR && feed.state.hasNewer) void feed.newer();
  }, [feed]);

  const follow = useCallback(
    (on: boolean) => {
      setFollowing(on);
      if (!on) return;
      if (feed.state.hasNewer) void feed.openAtEnd();
      else place(box.current?.scrollHeight ?? 0);
    },
    [feed, place],
  );

  const toStart = useCallback(async () => {
    setFollowing(false);
    if (feed.state.hasOlder) await feed.openAtStart();
    place(0);
  }, [feed, place]);

  const show = useCallback(
    (index: number) => {
      setFollowing(false);
      const height = box.current?.clientHeight ?? 600;
      // A third of the view above the row is its context. The sheet may not have grown yet.
      const top = Math.max(0, rows.top(index) * LINE_HEIGHT - height / 3);
      place(top);
      requestAnimationFrame(() => place(top));
    },
    [rows, place],
  );

  const retry = useCallback(
    () => (feed.state.lines.length === 0 ? feed.openAtEnd() : feed.state.hasNewer ? feed.newer() : feed.older()),
    [feed],
  );

  const first = rows.at(view.top / LINE_HEIGHT);
  const last = rows.at((view.top + view.height) / LINE_HEIGHT) + 1;
  const unseen = Math.max(0, feed.state.lines.length - seen.current);
  if (unseen === 0 || model.grownAbove !== 0) seen.current = feed.state.lines.length;
  return { box, ruler, first, last, following, unseen, onScroll, follow, toStart, show, retry };
}
