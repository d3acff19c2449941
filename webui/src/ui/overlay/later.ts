/** Components that open: their code comes after the first content of the page. */
import { lazy, type ComponentType, type LazyExoticComponent } from "react";

/** The list of a page has its first rows by then, on most machines. */
const PAUSE_MS = 1000;

/** Loads a component when the page has nothing else to do, or when it opens before that. */
export function later<Props>(load: () => Promise<{ default: ComponentType<Props> }>): LazyExoticComponent<ComponentType<Props>> {
  if ("requestIdleCallback" in window) {
    // A failure shows when the component opens: it is loaded again then.
    setTimeout(() => requestIdleCallback(() => void load().catch(() => undefined)), PAUSE_MS);
  }
  return lazy(load);
}
