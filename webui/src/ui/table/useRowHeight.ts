import { useSyncExternalStore } from "react";

const HEIGHTS: Record<string, number> = { compact: 28, normal: 34, roomy: 42 };

/** The height of a row in px, by the density of the page (`--row` of the tokens). */
export function useRowHeight(): number {
  return useSyncExternalStore(
    watch,
    () => HEIGHTS[document.documentElement.dataset["density"] ?? "normal"] ?? 34,
  );
}

function watch(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ["data-density"] });
  return () => observer.disconnect();
}
