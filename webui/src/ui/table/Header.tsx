import { useRef, useState, type PointerEvent } from "react";

import {
  directionOf,
  isPinned,
  moveColumn,
  nextDirection,
  withPin,
  withSort,
  withWidth,
  type TableState,
} from "@/data/view/tableState";

import { Icon, type IconName } from "../icons/Icon";
import styles from "./DataTable.module.css";
import type { Column } from "./types";
import { HEAD_HEIGHT, type Placed } from "./useLayout";

interface HeaderProps<R> {
  state: TableState;
  setState(next: TableState): void;
  pinned: readonly Placed<R>[];
  free: readonly Placed<R>[];
  width: number;
  selects: boolean;
  menus: boolean;
  filtered: ReadonlySet<string> | undefined;
  allSelected: boolean | "some";
  onSelectAll(): void;
  openMenu(column: Column<R>, opener: HTMLElement): void;
}

const DRAG_PX = 6;

export function Header<R>(props: HeaderProps<R>) {
  const { pinned, free, width, selects, menus, allSelected } = props;
  const [drop, setDrop] = useState<{ id: string; after: boolean }>();
  const offset = selects ? 2 : 1;
  const cell = (placed: Placed<R>) => (
    <HeadCell
      key={placed.column.id}
      placed={placed}
      colIndex={placed.place + offset}
      last={placed === pinned.at(-1)}
      drop={drop?.id === placed.column.id ? (drop.after ? "after" : "before") : undefined}
      setDrop={setDrop}
      {...props}
    />
  );
  return (
    <div role="rowgroup" className={styles.head} style={{ width, height: HEAD_HEIGHT }}>
      <div role="row" aria-rowindex={1} className={styles.headRow}>
        <div role="presentation" className={styles.fixed}>
          {selects && (
            <div role="columnheader" aria-colindex={1} className={styles.select}>
              <label>
                <input
                  type="checkbox"
                  aria-label="Select all rows"
                  checked={allSelected === true}
                  ref={(input) => {
                    if (input) input.indeterminate = allSelected === "some";
                  }}
                  onChange={props.onSelectAll}
                />
              </label>
            </div>
          )}
          {pinned.map(cell)}
        </div>
        {free.map(cell)}
        {menus && <div role="presentation" className={styles.more} />}
      </div>
    </div>
  );
}

interface HeadCellProps<R> extends HeaderProps<R> {
  placed: Placed<R>;
  colIndex: number;
  last: boolean;
  drop: "before" | "after" | undefined;
  setDrop(drop: { id: string; after: boolean } | undefined): void;
}

function HeadCell<R>({ placed, colIndex, last, drop, setDrop, state, setState, filtered, openMenu }: HeadCellProps<R>) {
  const { column, left, width, pinned } = placed;
  const drag = useReorder(column.id, state, setState, setDrop);
  const direction = directionOf(state, column.id);
  const name = (
    <>
      {iconOf(column) && <Icon name={iconOf(column) as IconName} size={12} />}
      <span className={styles.headText}>{column.header}</span>
      <SortMark state={state} id={column.id} />
      {filtered?.has(column.id) && (
        <span className={styles.dot}>
          <span className="visually-hidden">filtered</span>
        </span>
      )}
    </>
  );
  return (
    <div
      role="columnheader"
      aria-colindex={colIndex}
      aria-sort={direction === "none" ? undefined : direction === "asc" ? "ascending" : "descending"}
      className={pinned ? styles.headPinned : styles.headCell}
      data-column={column.id}
      data-align={column.align}
      data-drop={drop}
      data-last={last || undefined}
      style={pinned ? { width } : { left, width }}
    >
      {column.sortable ? (
        <button
          type="button"
          className={styles.headName}
          title={column.header}
          {...drag.handlers}
          onClick={(event) => {
            if (drag.wasDrag()) return;
            setState(withSort(state, column.id, nextDirection(direction), event.shiftKey));
          }}
        >
          {name}
        </button>
      ) : (
        <div className={styles.headName} title={column.header} {...drag.handlers}>
          {name}
        </div>
      )}
      <button
        type="button"
        className={styles.headMenu}
        aria-haspopup="menu"
        aria-label={`Column ${column.header}`}
        onClick={(event) => openMenu(column, event.currentTarget)}
      >
        <Icon name="down" size={12} />
      </button>
      <ResizeHandle width={width} onWidth={(next) => setState(withWidth(state, column.id, next))} />
    </div>
  );
}

function SortMark({ state, id }: { state: TableState; id: string }) {
  const at = state.sort.findIndex((each) => each.id === id);
  const sort = state.sort[at];
  if (!sort) return null;
  return (
    <span className={styles.sortMark} aria-hidden="true">
      {sort.desc ? "↓" : "↑"}
      {state.sort.length > 1 && <sub>{at + 1}</sub>}
    </span>
  );
}

function iconOf<R>(column: Column<R>): IconName | undefined {
  return column.type === "date" ? "clock" : column.type === "list" ? "tag" : undefined;
}

/** Width presets in the column's menu do the same without a drag. */
function ResizeHandle({ width, onWidth }: { width: number; onWidth(width: number): void }) {
  const start = useRef<{ x: number; width: number } | undefined>(undefined);
  const follow = (event: PointerEvent) => {
    if (start.current) onWidth(start.current.width + event.clientX - start.current.x);
  };
  return (
    <div
      aria-hidden="true"
      className={styles.resize}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, width };
      }}
      onPointerMove={follow}
      onPointerUp={(event) => {
        follow(event);
        start.current = undefined;
      }}
      onPointerCancel={() => (start.current = undefined)}
    />
  );
}

/** A drag of a header moves its column; the menu's "Move" acts do the same. */
function useReorder(
  id: string,
  state: TableState,
  setState: (next: TableState) => void,
  setDrop: (drop: { id: string; after: boolean } | undefined) => void,
) {
  const start = useRef<{ x: number; dragging: boolean } | undefined>(undefined);
  const ended = useRef(false);
  const target = (event: PointerEvent) => {
    const over = document
      .elementsFromPoint(event.clientX, event.clientY)
      .map((each) => each.closest<HTMLElement>("[data-column]"))
      .find(Boolean);
    const column = over?.dataset["column"];
    if (!over || !column || column === id) return undefined;
    const box = over.getBoundingClientRect();
    return { id: column, after: event.clientX > box.left + box.width / 2 };
  };
  return {
    /** The click at the end of a drag does not sort. */
    wasDrag: () => {
      const was = ended.current;
      ended.current = false;
      return was;
    },
    handlers: {
      onPointerDown: (event: PointerEvent) => {
        ended.current = false;
        if (event.button === 0 && event.pointerType !== "touch")
          start.current = { x: event.clientX, dragging: false };
      },
      onPointerMove: (event: PointerEvent) => {
        if (!start.current) return;
        if (!start.current.dragging && Math.abs(event.clientX - start.current.x) < DRAG_PX) return;
        if (!start.current.dragging) event.currentTarget.setPointerCapture(event.pointerId);
        start.current.dragging = true;
        setDrop(target(event));
      },
      onPointerUp: (event: PointerEvent) => {
        const drop = start.current?.dragging ? target(event) : undefined;
        ended.current = Boolean(start.current?.dragging);
        start.current = undefined;
        setDrop(undefined);
        if (!drop) return;
        const moved = moveColumn(state, id, drop.id, drop.after);
        const pin = isPinned(state, drop.id);
        setState(isPinned(state, id) === pin ? moved : withPin(moved, id, pin));
      },
      onPointerCancel: () => {
        start.current = undefined;
        setDrop(undefined);
      },
    },
  };
}
