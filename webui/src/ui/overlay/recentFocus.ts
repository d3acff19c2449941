/**
 * Elements that had the focus, the newest first: a dialog that closes gives it back to the first
 * one that is still there. The entry of a menu that opened it is gone by then; the menu's button, or
 * the table, comes next.
 */
const MAX_RECENT = 12;

let recent: HTMLElement[] = [];

document.addEventListener("focusin", ({ target }) => {
  if (target instanceof HTMLElement) recent = [target, ...recent.filter((each) => each !== target)].slice(0, MAX_RECENT);
});

export function recentFocus(): readonly HTMLElement[] {
  return recent;
}

/**
 * Focuses the first that is still in the page, else the content of the page. A dialog calls this a
 * moment after it has closed. An element that has the focus by then keeps it: a menu that loses the
 * focus closes.
 */
export function giveFocusTo(candidates: readonly HTMLElement[]): void {
  if (document.activeElement && document.activeElement !== document.body) return;
  const target = candidates.find((each) => each.isConnected && !each.closest("[role=menu]"));
  (target ?? document.getElementById("main"))?.focus({ preventScroll: true });
}
