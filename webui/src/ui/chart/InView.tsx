/** Content that exists only near the part of the page in view; its place keeps its height. */
import { useEffect, useRef, useState, type ReactNode } from "react";

const MARGIN = "300px 0px";

let observer: IntersectionObserver | undefined;
const watchers = new WeakMap<Element, (inView: boolean) => void>();

function watch(element: Element, onChange: (inView: boolean) => void): () => void {
  if (typeof IntersectionObserver === "undefined") {
    onChange(true);
    return () => undefined;
  }
  observer ??= new IntersectionObserver(
    (entries) => entries.forEach((entry) => watchers.get(entry.target)?.(entry.isIntersecting)),
    { rootMargin: MARGIN },
  );
  watchers.set(element, onChange);
  observer.observe(element);
  return () => observer?.unobserve(element);
}

export function InView({ height, children }: { height: number; children: () => ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const measured = useRef(height);
  const [inView, setInView] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    return watch(element, (next) => {
      if (!next && element.firstElementChild) measured.current = element.offsetHeight;
      setInView(next);
    });
  }, []);
  useEffect(() => {
    measured.current = height;
  }, [height]);
  return (
    <div ref={place} style={{ minHeight: inView ? height : measured.current }}>
      {inView ? children() : null}
    </div>
  );
}
