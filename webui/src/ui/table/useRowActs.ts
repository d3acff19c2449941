/** The active row, and what a person does to rows by pointer and key. */
import { useEffect, useMemo, useRef, useState } from "react";

import type { RowActs } from "./Rows";
import { isSelected, NOTHING, select } from "./selection";
import type { Key, RowSource, Selection } from "./types";

interface Wishes<R> {
  source: RowSource<R>;
  rowKey(row: R): Key;
  selection: Selection;
  onSelection?: ((next: Selection) => void) | undefined;
  onOpen?: ((row: R) => void) | undefined;
  onPeek?: ((row: R, index: number) => void) | undefined;
  onActive?: ((row: R | undefined, index: number) => void) | undefined;
  onEscape?: (() => boolean) | undefined;
  isHead?: ((row: R) => boolean) | undefined;
  goTo(index: number): void;
  openMenu(row: R, at: DOMRect): void;
  rowElement(index: number): HTMLElement | null;
}

export function useRowActs<R>(wishes: Wishes<R>) {
  const now = useRef(wishes);
  now.current = wishes;
  const [active, setActive] = useState(-1);
  const activeKey = useRef<Key | undefined>(undefined);
  const anchor = useRef(-1);
  const { source, rowKey } = wishes;

  // The active row is a thing, not a place: after a refresh it is looked for at its new place.
  const version = source.getVersion();
  useEffect(() => {
    const key = activeKey.current;
    if (key === undefined) return;
    const row = now.current.source.rowAt(active);
    if (row !== undefined && now.current.rowKey(row) === key) return;
    const place = now.current.source.indexOf(key);
    if (place >= 0) setActive(place);
    else if (active >= (now.current.source.total ?? Infinity)) setActive(-1);
  }, [active, source, version]);

  const acts = useMemo(() => {
    const activate = (index: number) => {
      const row = now.current.source.rowAt(index);
      activeKey.current = row === undefined ? undefined : now.current.rowKey(row);
      setActive(index);
      now.current.onActive?.(row, index);
    };
    const toggle = (index: number, range: boolean) => {
      const { source: rows, selection, onSelection } = now.current;
      const row = rows.rowAt(index);
      if (!onSelection || row === undefined || now.current.isHead?.(row)) return;
      const key = now.current.rowKey(row);
      const from = anchor.current;
      anchor.current = index;
      if (!range || from < 0) {
        onSelection(select(selection, [key], !isSelected(selection, key)));
        return;
      }
      void rows
        .keysIn(Math.min(from, index), Math.max(from, index))
        .then((keys) => onSelection(select(now.current.selection, keys, true)))
        .catch(() => onSelection(select(now.current.selection, [key], true)));
    };
    const withRow = (index: number, act: (row: R) => void) => {
      const row = now.current.source.rowAt(index);
      if (row !== undefined) act(row);
    };
    return {
      activate,
      toggle,
      open: (index: number) => withRow(index, (row) => now.current.onOpen?.(row)),
      menu: (index: number, at: DOMRect) =>
        withRow(index, (row) => {
          activate(index);
          now.current.openMenu(row, at);
        }),
      peek: (index: number) => withRow(index, (row) => now.current.onPeek?.(row, index)),
    };
  }, []);

  const keys = {
    active,
    go: (index: number) => {
      acts.activate(index);
      now.current.goTo(index);
    },
    toggle: acts.toggle,
    open: acts.open,
    peek: acts.peek,
    menu: (index: number) => {
      const box = now.current.rowElement(index)?.getBoundingClientRect();
      if (box) acts.menu(index, new DOMRect(box.left + 48, box.top, 0, box.height));
    },
    escape: () => {
      if (now.current.onEscape?.()) return true;
      const { selection, onSelection } = now.current;
      if (!onSelection || (!selection.all && selection.keys.size === 0)) return false;
      onSelection(NOTHING);
      return true;
    },
  };
  void rowKey;
  return { active, acts: acts as RowActs, keys };
}
