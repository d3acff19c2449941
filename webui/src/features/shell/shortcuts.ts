/** Keys that work on every page. A key typed into a field is text, not a shortcut. */
import { useEffect, useRef } from "react";
import { useNavigate } from "react-router";

import { PLACES } from "./navigation";

const CHORD_MS = 1200;

export function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return Boolean(
    element?.closest?.("input, textarea, select, [contenteditable=true], .cm-editor"),
  );
}

export function useShortcuts({
  palette,
  toggleSideBar,
}: {
  palette(): void;
  toggleSideBar(): void;
}): void {
  const navigate = useNavigate();
  const chord = useRef(0);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const command = event.ctrlKey || event.metaKey;
      if (command && (event.key === "k" || event.key === " ")) {
        event.preventDefault();
        palette();
        return;
      }
      if (command || event.altKey || isTyping(event.target)) return;
      if (Date.now() - chord.current < CHORD_MS) {
        chord.current = 0;
        const place = PLACES.find((each) => each.key === event.key);
        if (place) {
          event.preventDefault();
          void navigate(place.to);
        }
        return;
      }
      if (event.key === "g") chord.current = Date.now();
      else if (event.key === "[") toggleSideBar();
      else if (event.key === "?") dispatchEvent(new CustomEvent("det:shortcuts"));
      else if (event.key === "/") {
        const query = document.querySelector<HTMLElement>("[data-query-bar] input, [data-query-bar]");
        if (query) {
          event.preventDefault();
          query.focus();
        }
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [navigate, palette, toggleSideBar]);
}
