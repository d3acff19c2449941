/**
 * The one table of all lists: virtual rows and columns, sorting, selection, keyboard.
 *
 * A short list needs the rows and the columns alone:
 *
 *   <DataTable
 *     label="Webhooks"
 *     rows={query.data}
 *     rowKey={(hook) => hook.id}
 *     columns={[
 *       { id: "name", header: "Name", render: (hook) => hook.name, value: (hook) => hook.name, sortable: true },
 *       { id: "url", header: "URL", grow: true, render: (hook) => hook.url },
 *     ]}
 *     onOpen={(hook) => navigate(`/webhooks/${hook.id}`)}
 *     empty={<Empty title="No webhooks yet" command="det ..." />}
 *   />
 *
 * `columns` is a constant or comes from `useMemo`: a new array draws all cells again. `rows`
 * undefined draws a skeleton. The table is as high as its rows, at most `fit` of them (20);
 * `fill` takes the height that the page leaves (`<Page flush>`), and the keys of the page.
 *
 * A long list passes `source` (`usePagedRows`) in place of `rows`; such a source sorts on the master.
 * `state` and `onState` hold sort, order, pins and widths outside (URL, views); without them the
 * table keeps them itself. `selection` and `onSelection` add the column of check boxes, `onPeek` the
 * peek of Space, `rowMenu` the acts of a row (`.`, right click).
 * `isHead` marks rows that stand for others.
 */
import { useId, useMemo, useRef, useState, type ReactNode } from "react";

import type { TableState } from "@/data/view/tableState";

import { ErrorNotice } from "../feedback/Feedback";
import type { MenuEntry } from "../overlay/Menu";
import { useArrayRows } from "./arrayRows";
import { columnMenu } from "./columnMenu";
import styles from "./DataTable.module.css";
import { Header } from "./Header";
import { MenuAt, type OpenMenu } from "./MenuAt";
import { Row } from "./Rows";
import { countOf, isSelected, NOTHING, selectAll } from "./selection";
import type { Column, Key, RowSource, Selection } from "./types";
import { onGridKey, usePageKeys } from "./useGridKeys";
import { defaultState, HEAD_HEIGHT, useLayout } from "./useLayout";
import { useRowActs } from "./useRowActs";
import { useRowHeight } from "./useRowHeight";
import { useSource } from "./useSource";
import { useWindow } from "./useWindow";

export interface DataTableProps<R> {
  /** Names the table for assistive technology. */
  label: string;
  columns: readonly Column<R>[];
  rowKey(row: R): Key;
  rows?: readonly R[] | undefined;
  source?: RowSource<R> | undefined;
  /** What a person knows a row by; its key by default. */
  rowName?(row: R): string;
  state?: TableState | undefined;
  onState?(next: TableState): void;
  selection?: Selection | undefined;
  onSelection?(next: Selection): void;
  onOpen?(row: R): void;
  onPeek?(row: R, index: number): void;
  /** The active row moved, by key or click. */
  onActive?(row: R | undefined, index: number): void;
  rowMenu?(row: R): MenuEntry[];
  /** A row that stands for others, such as the head of a group: it cannot be selected. */
  isHead?(row: R): boolean;
  /** True when it closed something; else Escape clears the selection. */
  onEscape?(): boolean;
  /** Shown under the header in place of rows. */
  empty?: ReactNode;
  /** Columns that the query restricts. */
  filtered?: ReadonlySet<string> | undefined;
  /** Most rows before the table scrolls in itself. */
  fit?: number;
  fill?: boolean;
  /** The row that stands at the top at first, and the report of it later. */
  at?: number | undefined;
  onAt?(index: number): void;
}

const SKELETON_ROWS = 12;

export function DataTable<R>(props: DataTableProps<R>) {
  const { label, columns, rowKey, onSelection, onPeek, rowMenu, fill = false, fit = 20 } = props;
  const id = useId();
  const scroll = useRef<HTMLDivElement>(null);
  const [own, setOwn] = useState<TableState>();
  const fallback = useMemo(() => defaultState(columns), [columns]);
  const state = props.state ?? own ?? fallback;
  const setState = props.onState ?? setOwn;
  const inMemory = useArrayRows(props.rows, columns, rowKey, state.sort);
  const source = useSource(props.source ?? inMemory);
  const total = source.total ?? (source.error ? 0 : SKELETON_ROWS);
  const height = useRowHeight();
  const [viewport, setViewport] = useState(0);
  const selects = Boolean(onSelection);
  const layout = useLayout(columns, state, { selects, menus: Boolean(rowMenu), viewport });
  const view = useWindow({
    scroll,
    source,
    total,
    height,
    layout,
    at: props.at,
    onAt: props.onAt,
    onViewport: setViewport,
  });
  const selection = props.selection ?? NOTHING;
  const [menu, setMenu] = useState<OpenMenu>();
  const nameOf = (row: R) => props.rowName?.(row) ?? String(rowKey(row));
  const { active, acts, keys } = useRowActs({
    ...props,
    source,
    selection,
    goTo: view.goTo,
    openMenu: (row, at) => rowMenu && setMenu({ items: rowMenu(row), at }),
    rowElement: (index) => document.getElementById(`${id}-${index}`),
  });
  usePageKeys(scroll, fill);
  const refocus = () => {
    const opener = menu?.opener;
    (opener?.isConnected ? opener : scroll.current)?.focus({ preventScroll: true });
  };
  const selectedCount = countOf(selection, source.total);
  const isEmpty = source.total === 0 && !source.error;
  const shownRows = Math.min(Math.max(total, 1), fit);

  return (
    <div
      className={styles.region}
      data-fill={fill}
      style={fill ? undefined : { maxHeight: HEAD_HEIGHT + shownRows * height + 18 + (isEmpty ? 260 : 0) }}
    >
      <div
        ref={scroll}
        role="grid"
        tabIndex={0}
        className={styles.scroll}
        data-short={isEmpty || (Boolean(source.error) && source.total === undefined) || undefined}
        aria-label={label}
        aria-rowcount={source.total === undefined ? -1 : source.total + 1}
        aria-colcount={layout.pinned.length + layout.free.length + (selects ? 1 : 0) + (rowMenu ? 1 : 0)}
        aria-multiselectable={selects || undefined}
        aria-busy={source.total === undefined && !source.error}
        aria-activedescendant={active >= 0 && view.isShown(active) ? `${id}-${active}` : undefined}
        onKeyDown={(event) =>
          onGridKey(event, {
            ...keys,
            total: source.total ?? 0,
            page: view.pageRows,
            peek: onPeek && keys.peek,
            menu: rowMenu && keys.menu,
            selectAll: onSelection && (() => onSelection(selectAll())),
            scrollBy: (px) => scroll.current?.scrollBy({ left: px }),
          })
        }
      >
        <div className={styles.sizer} style={{ width: layout.width, height: isEmpty ? HEAD_HEIGHT : view.totalHeight }}>
          <Header
            {...{ state, setState, selects, width: layout.width, pinned: layout.pinned, free: view.columns }}
            menus={Boolean(rowMenu)}
            filtered={props.filtered}
            allSelected={selectedCount === 0 ? false : selectedCount === source.total ? true : "some"}
            onSelectAll={() => onSelection?.(selectedCount > 0 ? NOTHING : selectAll())}
            openMenu={(column, opener) =>
              setMenu({ items: columnMenu(column, state, setState), at: opener.getBoundingClientRect(), opener })
            }
          />
          <div role="rowgroup">
            {view.rows.map(({ index, top, slot }) => {
              const row = source.rowAt(index);
              const key = row === undefined ? undefined : rowKey(row);
              return (
                <Row
                  key={slot}
                  id={`${id}-${index}`}
                  {...{ index, top, height, row, acts, selects }}
                  width={layout.width}
                  rowKey={key}
                  name={row === undefined ? "" : nameOf(row)}
                  pinned={layout.pinned}
                  free={view.columns}
                  columnCount={layout.pinned.length + layout.free.length}
                  menus={Boolean(rowMenu)}
                  head={row !== undefined && Boolean(props.isHead?.(row))}
                  selected={key !== undefined && isSelected(selection, key)}
                  active={index === active}
                />
              );
            })}
          </div>
        </div>
      </div>
      {isEmpty && <div className={styles.under}>{props.empty ?? <p className="hint">Nothing here.</p>}</div>}
      {Boolean(source.error) && (
        <div className={styles.under}>
          <ErrorNotice error={source.error} onRetry={() => source.retry()} />
        </div>
      )}
      {menu && <MenuAt {...menu} onClose={() => setMenu(undefined)} onClosed={refocus} />}
    </div>
  );
}
