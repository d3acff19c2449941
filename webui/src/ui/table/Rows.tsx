import { memo, useRef, type CSSProperties, type MouseEvent } from "react";

import { IconButton } from "../button/Button";
import styles from "./DataTable.module.css";
import type { CellValue, Column, Key } from "./types";
import type { Placed } from "./useLayout";

export interface RowActs {
  activate(index: number): void;
  toggle(index: number, range: boolean): void;
  open(index: number): void;
  menu(index: number, at: DOMRect): void;
}

export interface RowProps<R> {
  id: string;
  index: number;
  top: number;
  height: number;
  width: number;
  row: R | undefined;
  rowKey: Key | undefined;
  /** What a person knows the row by. */
  name: string;
  pinned: readonly Placed<R>[];
  free: readonly Placed<R>[];
  /** Of all shown columns, those out of sight too. */
  columnCount: number;
  selects: boolean;
  menus: boolean;
  /** Stands for other rows. */
  head: boolean;
  selected: boolean;
  active: boolean;
  acts: RowActs;
}

function RowOf<R>(props: RowProps<R>) {
  const { id, index, top, height, width, row, pinned, free, selects, menus, head, selected, active, acts } = props;
  const offset = selects ? 2 : 1;
  const open = (event: MouseEvent) => {
    if (!(event.target as HTMLElement).closest("a, button, input")) acts.open(index);
  };
  const menu = (event: MouseEvent) => {
    if (!menus || row === undefined) return;
    event.preventDefault();
    acts.menu(index, new DOMRect(event.clientX, event.clientY, 0, 0));
  };
  return (
    <div
      id={id}
      role="row"
      className={styles.row}
      aria-rowindex={index + 2}
      aria-selected={selects && !head ? selected : undefined}
      aria-busy={row === undefined || undefined}
      data-active={active}
      data-head={head || undefined}
      data-index={index}
      style={{ top, height, width }}
      onClick={() => acts.activate(index)}
      onDoubleClick={open}
      onContextMenu={menu}
    >
      {/* One sticky box a row: each sticky cell would be a layer of its own to compose. */}
      <div role="presentation" className={styles.fixed}>
        {selects && (
          <div role="gridcell" aria-colindex={1} className={styles.select}>
            {!head && (
              <label>
                <input
                  type="checkbox"
                  tabIndex={-1}
                  disabled={row === undefined}
                  aria-label={`Select ${props.name}`}
                  checked={selected}
                  onChange={() => undefined}
                  onClick={(event) => {
                    event.stopPropagation();
                    acts.toggle(index, event.shiftKey);
                  }}
                />
              </label>
            )}
          </div>
        )}
        {pinned.map((placed) => (
          <Cell key={placed.column.id} {...cellProps(placed, row, props.rowKey, offset)} last={placed === pinned.at(-1)} />
        ))}
      </div>
      {free.map((placed) => (
        <Cell key={placed.column.id} {...cellProps(placed, row, props.rowKey, offset)} last={false} />
      ))}
      {menus && (
        <div
          role="gridcell"
          aria-colindex={props.columnCount + offset}
          className={styles.more}
        >
          {row !== undefined && (
            <IconButton
              icon="more"
              small
              tabIndex={-1}
              aria-haspopup="menu"
              label={`Actions on ${props.name}`}
              onClick={(event) => acts.menu(index, event.currentTarget.getBoundingClientRect())}
            />
          )}
        </div>
      )}
    </div>
  );
}

export const Row = memo(RowOf) as typeof RowOf;

interface CellProps<R> {
  column: Column<R>;
  row: R | undefined;
  rowKey: Key | undefined;
  left: number;
  width: number;
  pinned: boolean;
  place: number;
}

function cellProps<R>(placed: Placed<R>, row: R | undefined, rowKey: Key | undefined, offset: number): CellProps<R> {
  const { column, left, width, pinned, place } = placed;
  return { column, row, rowKey, left, width, pinned, place: place + offset };
}

function CellOf<R>({ column, row, rowKey, left, width, pinned, place, last }: CellProps<R> & { last: boolean }) {
  const changes = useChanges(rowKey, row === undefined ? undefined : column.value?.(row));
  const style: CSSProperties = pinned ? { width } : { left, width };
  const ground = row !== undefined ? column.tint?.(row) : undefined;
  return (
    <div
      role="gridcell"
      aria-colindex={place}
      className={pinned ? styles.pinned : styles.cell}
      data-align={column.align}
      data-last={last || undefined}
      style={ground ? { ...style, background: ground } : style}
    >
      <span key={changes} className={changes ? styles.changed : styles.content}>
        {row === undefined ? null : column.render(row)}
      </span>
    </div>
  );
}

const Cell = memo(CellOf) as typeof CellOf;

/** How often the value of a cell has changed while the same row stood there. */
function useChanges(rowKey: Key | undefined, value: CellValue): number {
  const last = useRef({ rowKey, value, count: 0 });
  const seen = last.current;
  if (seen.rowKey !== rowKey) last.current = { rowKey, value, count: 0 };
  else if (!Object.is(seen.value, value)) {
    const isFirst = seen.value === undefined;
    last.current = { rowKey, value, count: isFirst ? seen.count : seen.count + 1 };
  }
  return last.current.count;
}
