import type { Key, Selection } from "./types";

export const NOTHING: Selection = { all: false, keys: new Set() };

export function isSelected(selection: Selection, key: Key): boolean {
  return selection.all !== selection.keys.has(key);
}

export function countOf(selection: Selection, total: number | undefined): number {
  return selection.all ? Math.max(0, (total ?? 0) - selection.keys.size) : selection.keys.size;
}

export function select(selection: Selection, keys: Iterable<Key>, on: boolean): Selection {
  const next = new Set(selection.keys);
  for (const key of keys) {
    if (on !== selection.all) next.add(key);
    else next.delete(key);
  }
  return { all: selection.all, keys: next };
}

export function selectAll(): Selection {
  return { all: true, keys: new Set() };
}
