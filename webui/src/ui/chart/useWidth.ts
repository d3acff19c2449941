/** The width of an element in CSS px; 0 before the first measure. */
import { useCallback, useState, type RefCallback } from "react";

/** The returned ref may move to another element, which is then measured. */
export function useWidth(): readonly [RefCallback<HTMLDivElement>, number] {
  const [width, setWidth] = useState(0);
  const measure = useCallback((target: HTMLDivElement | null) => {
    if (!target) return undefined;
    setWidth(Math.floor(target.clientWidth));
    if (typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(target);
    return () => observer.disconnect();
  }, []);
  return [measure, width];
}
