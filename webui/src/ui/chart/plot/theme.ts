/** Colours of a canvas: custom properties that the canvas cannot read by itself. */
import { useSyncExternalStore } from "react";

import { currentTheme } from "@/data/preferences";

import type { Theme } from "../palette";

export interface Ink {
  theme: Theme;
  text: string;
  hint: string;
  line: string;
  strong: string;
  /** Lines that are not selected among many. */
  muted: string;
  ground: string;
  accent: string;
  family: string;
}

let observer: MutationObserver | undefined;
const listeners = new Set<() => void>();

function watch(listener: () => void): () => void {
  listeners.add(listener);
  observer ??= new MutationObserver(() => listeners.forEach((each) => each()));
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) observer?.disconnect();
  };
}

/** The theme in force; the component re-renders when it changes. */
export function useTheme(): Theme {
  return useSyncExternalStore(watch, currentTheme);
}

const known = new Map<Theme, Ink>();

export function inkOf(theme: Theme): Ink {
  const old = known.get(theme);
  if (old) return old;
  const ink = readInk(theme);
  known.set(theme, ink);
  return ink;
}

function readInk(theme: Theme): Ink {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    theme,
    text: read("--text-2"),
    hint: read("--text-3"),
    line: read("--line-1"),
    strong: read("--text-1"),
    muted: read("--bg-3"),
    ground: read("--bg-1"),
    accent: read("--accent"),
    family: read("--sans") || "sans-serif",
  };
}
