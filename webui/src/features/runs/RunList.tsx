/** The list of runs or searches of a project: query, views, table, peek, acts on the selection. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";

import type { ActionId } from "@/data/experiments/actions";
import { plural } from "@/data/format/numbers";
import { useNow } from "@/data/now";
import { columnsQuery } from "@/data/projects";
import { compileQuery } from "@/data/query/compile";
import { fieldsOf, type ProjectColumn, type Table } from "@/data/query/fields";
import { useUser } from "@/data/session";
import { EMPTY_STATE } from "@/data/view/tableState";
import { readView, wireSort, type ViewState } from "@/data/view/url";
import { useListState } from "@/data/view/useListState";
import { defaultView, useViews } from "@/data/view/views";
import { useRights } from "@/data/permissions/permissions";
import { useUserName, useUsers } from "@/data/workspaces";
import { useTensorBoard } from "@/features/launch/useTensorBoard";
import { MAX_RUNS } from "@/features/compare/ids";
import { Button } from "@/ui/button/Button";
import { ErrorNotice, Loading } from "@/ui/feedback/Feedback";
import { toast } from "@/ui/feedback/toast";
import { later } from "@/ui/later";
import { Menu } from "@/ui/overlay/Menu";
import { QueryBar } from "@/ui/query/QueryBar";
import { ColumnPicker } from "@/ui/table/ColumnPicker";
import { DataTable } from "@/ui/table/DataTable";
import { SelectionBar } from "@/ui/table/SelectionBar";
import type { RowSource, Selection } from "@/ui/table/types";
import { useSource } from "@/ui/table/useSource";
import { usePagedRows } from "@/ui/table/usePagedRows";

import { useCauseColumn, withCause, withoutCause } from "./causes";
import { chosenItems } from "./chosen";
import { columnsOf, defaultTable, linkOf } from "./columns";
import { BaselineChip, GroupSelect, useBaseline } from "./groups/Tools";
import { useGroupedTable } from "./groups/useGroupedTable";
import { listCsv } from "./exported";
import type { Item } from "./item";
import { CsvButton, LastWeek } from "./ListTools";
import { NoRows } from "./NoRows";
import { useMetricRanges } from "./ranges";
import styles from "./Runs.module.css";
import { fetchItems, narrowed, ofSearch, useLiveItems } from "./source";
import { boardSources, mayOpenBoard, startEntries } from "./starts";
import { ICONS, useActions } from "./useActions";
import { useVaryingColumns } from "./varying";
import { ViewsMenu } from "./ViewsMenu";

const Peek = later(async () => ({ default: (await import("./Peek")).Peek }));

const keyOf = (item: Item) => item.id;
/** The other actions are in a menu. */
const IN_SIGHT: ReadonlySet<string> = new Set(["pause", "resume", "archive"]);
/** A TensorBoard reads the files of each at its start. */
const MAX_ON_BOARD = 100;

export interface RunListProps {
  table: Table;
  projectId: number;
  workspaceId: number | undefined;
  /** Only the runs of this search. */
  experimentId?: number;
}

export function RunList(props: RunListProps) {
  const { table, projectId } = props;
  const columns = useQuery(columnsQuery(projectId, table));
  const views = useViews(projectId, table === "run" ? "runs" : "searches");
  if (columns.error && !columns.data) return <ErrorNotice error={columns.error} onRetry={() => columns.refetch()} />;
  // The default view decides which rows are read first.
  if (!columns.data || views.isLoading) return <div style={{ padding: 24 }}><Loading what="the list" rows={10} height={26} /></div>;
  return <Listing {...props} columns={columns.data} views={views} />;
}

function Listing({ table, projectId, workspaceId, experimentId, columns: known, views }: RunListProps & { columns: readonly ProjectColumn[]; views: ReturnType<typeof useViews> }) {
  const navigate = useNavigate();
  const [params, setParams] = useSearchParams();
  const word = table === "run" ? "trial" : "experiment";
  const words = `${word}s`;
  const pageBase = useMemo<ViewState>(() => ({ ...EMPTY_STATE, ...defaultTable(table, known), query: "", group: "", baseline: "" }), [table, known]);
  const asked = params.get("view");
  const view = useMemo(
    () => (asked === "0" ? undefined : (views.views.find((each) => String(each.id) === asked) ?? defaultView(views.views))),
    [asked, views.views],
  );
  const viewState = view?.state;
  const base = useMemo(() => readView(viewState, pageBase), [viewState, pageBase]);
  const { state, change } = useListState(base);

  const user = useUser();
  const users = useUsers().data;
  const minute = useNow(60_000);
  const around = useMemo(() => ({ me: user.displayName || user.username || "", now: minute }), [user, minute]);
  const fields = useMemo(() => fieldsOf(table, known), [table, known]);
  // Relative times of the query follow the clock only when the query changes.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const compiled = useMemo(() => compileQuery(state.query, fields, around), [state.query, fields, around.me]);
  const filter = useMemo(
    () => (experimentId === undefined ? compiled.filter : narrowed(compiled.filter, ofSearch(experimentId))),
    [compiled, experimentId],
  );
  const sort = wireSort(state.sort);
  const listKey = JSON.stringify([table, projectId, filter]);
  const key = `${listKey} ${sort}`;
  const fetch = useCallback(
    (offset: number, limit: number, signal: AbortSignal) => fetchItems({ table, projectId, filter, sort }, offset, limit, signal),
    [table, projectId, filter, sort],
  );
  const { rows, wanted, isLoading } = usePagedRows(key, fetch, keyOf, state.at);
  const list = useMemo(() => ({ table, projectId, filter, sort }), [table, projectId, filter, sort]);
  const userName = useUserName();
  const [hasHeat, setHeat] = useState(false);
  const ranges = useMetricRanges(projectId, hasHeat);
  const baseline = useBaseline(table, projectId, state.baseline);
  const columns = useMemo(() => columnsOf(table, known, { userName, ranges, baseline: baseline ?? undefined, isGrouped: table === "run" && state.group !== "" }), [table, known, users, ranges, baseline, state.group]); // eslint-disable-line react-hooks/exhaustive-deps
  const varying = useVaryingColumns(listKey, wanted.loaded(), known, state, pageBase.columns);
  const { own } = varying;
  const shown = varying.state;
  const grouped = useGroupedTable({ list, state: shown, change: (part) => change(own(part)), columns, fields, userName });
  const live = useLiveItems(list, grouped.rows ?? wanted, grouped.rows !== undefined);
  useSource(rows);
  const cause = useCauseColumn(table, (grouped.rows ?? wanted).loaded());
  const tableColumns = useMemo(() => (cause ? [...grouped.columns, cause] : grouped.columns), [grouped.columns, cause]);
  const tableState = useMemo(() => (cause ? withCause(grouped.state) : grouped.state), [grouped.state, cause]);
  const groups = grouped.rows?.groups;
  const knownValues = useMemo(() => ({ user: (users ?? []).map((each) => each.displayName || each.username || "") }), [users]);

  const selection = useMemo<Selection>(() => ({ all: state.all, keys: new Set(state.selected.map(Number)) }), [state.all, state.selected]);
  const select = (next: Selection) => change({ all: next.all, selected: [...next.keys].map(String) }, { silent: true });
  const bulk = useActions({ table, projectId, workspaceId, onDone: live.refresh });
  const start = async (id: ActionId) => {
    try {
      bulk.start(id, await chosenItems(selection, { table, projectId, filter, rows: wanted }));
    } catch (error) {
      toast.failed("Read the selection", error);
    }
  };
  const setQuery = (query: string) => change({ query, at: 0, peek: "", ...(state.all ? { all: false, selected: [] } : {}) });
  const peeked = state.peek ? rowOf(grouped.rows ?? rows, Number(state.peek)) : undefined;
  const compare = async () => {
    const items = await chosenItems(selection, { table, projectId, filter, rows: wanted });
    const ids = items.map((item) => item.id).join(",");
    void navigate(table === "run" ? `/compare?runs=${ids}` : `/compare?experiments=${ids}`);
  };
  const rights = useRights();
  const startTensorBoard = useTensorBoard();
  const openTensorBoard = (items: readonly Item[]) => void startTensorBoard(boardSources(items, table), workspaceId);
  const board = async () => {
    try {
      openTensorBoard(await chosenItems(selection, { table, projectId, filter, rows: wanted }));
    } catch (error) {
      toast.failed("Read the selection", error);
    }
  };
  // An experiment may have several trials to compare.
  const least = table === "run" ? 2 : 1;
  const total = rows.total;
  const count = selection.all ? (total ?? 0) - selection.keys.size : selection.keys.size;
  return (
    <div className={styles.list}>
      <div className={styles.tools}>
        <div className={styles.query}>
          <QueryBar value={state.query} onValue={setQuery} fields={fields} known={knownValues} around={around} />
        </div>
        <div className="row">
          <ViewsMenu
            list={table === "run" ? "runs" : "searches"}
            views={views}
            current={view}
            state={state}
            base={base}
            onChoose={(next) => setParams(next ? { view: String(next.id) } : defaultView(views.views) ? { view: "0" } : {})}
          />
          {table === "run" && <GroupSelect fields={fields} value={state.group} onValue={(group) => change({ group, open: [], at: 0, peek: "" })} />}
          <ColumnPicker columns={columns} state={shown} onState={(next) => change(own(next))} onReset={() => change({ columns: base.columns, pinned: base.pinned, widths: base.widths })} />
          <Button look={hasHeat ? "normal" : "quiet"} aria-pressed={hasHeat} onClick={() => setHeat(!hasHeat)}>
            Heat map
          </Button>
          <LastWeek query={state.query} onQuery={setQuery} />
          <CsvButton name={words} read={() => listCsv(list, { columns: shownColumns(columns, shown.columns), userName })} />
        </div>
      </div>
      <div className={styles.status}>
        <span role="status">{total === undefined ? "Loading" : `${total.toLocaleString("en")} ${total === 1 ? word : words}`}{groups && ` in ${plural(groups.total, "group")}`}{isLoading && ", loading"}</span>
        {groups && groups.total > groups.groups.length && <span>The {groups.groups.length} largest groups are shown.</span>}
        <BaselineChip id={state.baseline} item={baseline} word={word} onClear={() => change({ baseline: "" })} />
        {live.fresh > 0 && (
          <button type="button" className={styles.chip} onClick={live.refresh}>
            {live.fresh} new
          </button>
        )}
      </div>
      <div style={{ position: "relative", display: "flex", flex: "1 1 0", minHeight: 0 }}>
        <div className={styles.list} style={{ minWidth: 0 }}>
          <DataTable
            label={table === "run" ? "Trials" : "Experiments"}
            fill
            columns={tableColumns}
            source={grouped.rows ?? rows}
            rowKey={grouped.rowKey}
            rowName={grouped.rowName}
            isHead={grouped.isHead}
            state={tableState}
            onState={(next) => grouped.onState(withoutCause(next))}
            selection={selection}
            onSelection={select}
            filtered={compiled.columns}
            at={state.at}
            onAt={(at) => change({ at }, { silent: true })}
            onOpen={(item) => (item.group ? grouped.toggle(item.group.key) : void navigate(linkOf(item, table)))}
            onPeek={(item) => (item.group ? grouped.toggle(item.group.key) : change({ peek: String(item.id) }))}
            onActive={(item) => state.peek && item && !item.group && change({ peek: String(item.id) }, { silent: true })}
            onEscape={() => {
              if (!state.peek) return false;
              change({ peek: "" });
              return true;
            }}
            rowMenu={(item) => item.group ? grouped.menuOf(item.group) : [
              { label: "Open", icon: "external", to: linkOf(item, table), keys: "Enter" },
              { label: "Peek", icon: "sidebar", keys: "Space", onSelect: () => change({ peek: String(item.id) }) },
              table === "run" ? { label: `Experiment ${item.experimentId}`, icon: "search", to: `/searches/${item.experimentId}/runs` } : { label: "Its trials", icon: "runs", to: `/searches/${item.id}/runs` },
              String(item.id) === state.baseline
                ? { label: "Clear the baseline", icon: "flag", onSelect: () => change({ baseline: "" }) }
                : { label: "Compare all with it (baseline)", icon: "flag", onSelect: () => change({ baseline: String(item.id) }) },
              "separator",
              ...startEntries(item, table, rights, openTensorBoard),
              "separator",
              ...bulk.menuOf(item),
            ]}
            empty={<NoRows query={state.query} onQuery={setQuery} table={table} />}
          />
          <SelectionBar selection={selection} onSelection={select} total={total} listed={isComplete(rows) ? keysOf(rows) : undefined} word={word} words={words}>
            <Button
              small
              icon="chart"
              disabledReason={count > MAX_RUNS ? `At most ${MAX_RUNS} can be compared.` : count < least ? "Comparing takes two." : undefined}
              onClick={() => void compare()}
            >
              Compare
            </Button>
            {bulk.actions.filter(({ id }) => IN_SIGHT.has(id)).map(({ id, label }) => (
              <Button key={id} small icon={ICONS[id]} onClick={() => void start(id)}>
                {label}
              </Button>
            ))}
            <Menu
              align="start"
              trigger={
                <Button small icon="more">
                  More
                </Button>
              }
              items={[
                mayOpenBoard(workspaceId, rights) && {
                  label: "Open TensorBoard",
                  icon: "chart" as const,
                  disabledReason: count > MAX_ON_BOARD ? `At most ${MAX_ON_BOARD} are shown at once.` : undefined,
                  onSelect: () => void board(),
                },
                ...bulk.actions
                  .filter(({ id }) => !IN_SIGHT.has(id))
                  .map(({ id, label, isDestructive }) => ({ label, icon: ICONS[id], ...(isDestructive ? { danger: true } : {}), onSelect: () => void start(id) })),
              ]}
            />
          </SelectionBar>
        </div>
        {peeked && (
          <Peek item={peeked} table={table} onClose={() => change({ peek: "" })} />
        )}
      </div>
      {bulk.element}
    </div>
  );
}

/** The columns in the order of the table. */
function shownColumns<C extends { id: string }>(columns: readonly C[], ids: readonly string[]): C[] {
  return ids.flatMap((id) => columns.find((each) => each.id === id) ?? []);
}

type Rows = ReturnType<typeof usePagedRows<Item>>["rows"];

function rowOf(rows: RowSource<Item>, id: number): Item | undefined {
  const at = rows.indexOf(id);
  return at < 0 ? undefined : rows.rowAt(at);
}

function keysOf(rows: Rows): number[] {
  return [...rows.loaded()].map(keyOf);
}

function isComplete(rows: Rows): boolean {
  return rows.total !== undefined && keysOf(rows).length >= rows.total;
}

