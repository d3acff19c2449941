/** The keys of a table: j k and arrows, x, Shift+x, Enter, Space, Escape, `.`. */
import { useEffect, type KeyboardEvent, type RefObject } from "react";

export interface GridKeys {
  total: number;
  /** Rows that one page shows. */
  page: number;
  active: number;
  go(index: number): void;
  toggle(index: number, range: boolean): void;
  open(index: number): void;
  /** Without a peek, Space selects and the right arrow scrolls. */
  peek: ((index: number) => void) | undefined;
  menu: ((index: number) => void) | undefined;
  escape(): boolean;
  selectAll: (() => void) | undefined;
  scrollBy(px: number): void;
}

export function onGridKey(event: KeyboardEvent, keys: GridKeys): void {
  const target = event.target as HTMLElement;
  const inside = target !== event.currentTarget;
  if (event.altKey || target.closest("[role=columnheader], [role=menu], textarea, select")) return;
  if (inside && target.matches("input:not([type=checkbox])")) return;
  // A link or button inside a row keeps its own Enter and Space.
  if (inside && (event.key === "Enter" || event.key === " ")) return;
  const act = actOf(event, keys);
  if (!act) return;
  if (act() === false) return;
  event.preventDefault();
  event.stopPropagation();
}

function actOf(event: KeyboardEvent, keys: GridKeys): (() => unknown) | undefined {
  const { active, total, page } = keys;
  const command = event.ctrlKey || event.metaKey;
  const go = (index: number) => () => keys.go(Math.max(0, Math.min(total - 1, index)));
  if (command) {
    if (event.key === "a" && keys.selectAll) return keys.selectAll;
    if (event.key === "Home") return go(0);
    if (event.key === "End") return go(total - 1);
    return undefined;
  }
  switch (event.key) {
    case "j":
    case "ArrowDown":
      return go(active + 1);
    case "k":
    case "ArrowUp":
      return go(active < 0 ? 0 : active - 1);
    case "PageDown":
      return go(Math.max(active, 0) + page);
    case "PageUp":
      return go(active - page);
    case "Home":
      return go(0);
    case "End":
      return go(total - 1);
    case "ArrowRight":
      if (event.shiftKey || !keys.peek || active < 0) return () => keys.scrollBy(120);
      return () => keys.peek?.(active);
    case "ArrowLeft":
      return () => keys.scrollBy(-120);
    case "Escape":
      return () => keys.escape();
  }
  return total > 0 ? actOnRow(event.key, keys) : undefined;
}

/** Before a row is active, the first one is meant; only Enter would leave the page for it. */
function actOnRow(key: string, keys: GridKeys): (() => unknown) | undefined {
  const { active, peek, menu } = keys;
  const on = (act: (index: number) => void) => () => {
    if (active < 0) keys.go(0);
    act(Math.max(active, 0));
  };
  switch (key) {
    case "x":
      return on((index) => keys.toggle(index, false));
    case "X":
      return on((index) => keys.toggle(index, true));
    case "Enter":
      return active < 0 ? undefined : on(keys.open);
    case " ":
      return on(peek ?? ((index) => keys.toggle(index, false)));
    case ".":
      return menu && on(menu);
  }
  return undefined;
}

const PAGE_KEYS: ReadonlySet<string> = new Set(["j", "k", "x", " ", "."]);

/** While nothing on the page has the focus, these keys go to its table, which then has it. */
export function usePageKeys(grid: RefObject<HTMLElement | null>, isOfPage: boolean): void {
  useEffect(() => {
    if (!isOfPage) return undefined;
    const onKey = (event: globalThis.KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const isFree = target === document.body || target.matches("main, h1");
      if (!isFree || !PAGE_KEYS.has(event.key) || event.defaultPrevented) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      grid.current?.focus({ preventScroll: true });
      const { key, shiftKey } = event;
      const isTaken = !grid.current?.dispatchEvent(new globalThis.KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true }));
      if (isTaken) event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [grid, isOfPage]);
}
