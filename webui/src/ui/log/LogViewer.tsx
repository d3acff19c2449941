/**
 * A log of any length: newest line at the bottom, pages loaded at both ends.
 *
 *     <LogViewer label="Log of run 12" source={source} target={location.hash} onLink={setHash} />
 *
 * `source` must keep its identity. The viewer fills its parent's height. `target` is the part of
 * the address that names a line (`#L812`); `onLink` is called with it when a line's time is clicked.
 * Keys in the log: `/` searches, `n` and `N` go from hit to hit, `e` goes to the next error, `Home`
 * and `End` go to the ends.
 */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";

import { download } from "../chart/export/download";
import { ErrorNotice } from "../feedback/Feedback";
import { toast } from "../feedback/toast";
import { useTheme } from "../chart/plot/theme";
import { HitList } from "./HitList";
import styles from "./Log.module.css";
import { LINE_HEIGHT, LogRow, type RowLook } from "./LogRow";
import { LogTools, type Look } from "./LogTools";
import type { Row } from "./rows";
import { errorBelow, errorBeyond } from "./search";
import { NO_FILTER, type LogFilter, type LogLine, type LogQuery, type LogSource } from "./types";
import { useLog } from "./useLog";
import { useLogScroll } from "./useLogScroll";

export interface LogViewerProps {
  label: string;
  source: LogSource;
  /** When the thing started: ISO text, for times since the start. */
  startTime?: string | undefined;
  target?: string | undefined;
  onLink?(hash: string): void;
  /** Why there is no line. */
  empty?: string;
  filter?: LogFilter;
  onFilter?(filter: LogFilter): void;
}

const OVERSCAN = 12;

export function LogViewer(props: LogViewerProps) {
  const { label, source, target, onLink } = props;
  const [ownFilter, setOwnFilter] = useState<LogFilter>(NO_FILTER);
  const filter = props.filter ?? ownFilter;
  const [query, setQuery] = useState<LogQuery>({ text: "", regex: false });
  const [look, setLook] = useState<Look>({ times: "clock", wrap: false, fold: true });
  const [list, setList] = useState(false);
  const [mark, setMark] = useState<string>();
  const [opened, setOpened] = useState<LogLine[]>();
  const searchField = useRef<HTMLInputElement>(null);
  const [columns, setColumns] = useState(0);
  const options = { columns: look.wrap ? columns : 0, fold: look.fold };
  const { model, matcher, patternError } = useLog(source, filter, options, query);
  const { rows, hits, feed } = model;
  const scroll = useLogScroll(model, setColumns);
  const { show } = scroll;

  const goTo = useCallback(
    (index: number | undefined) => {
      if (index === undefined) return;
      setMark(rows.rows[index]?.line.id);
      show(index);
    },
    [rows, show],
  );
  const current = mark === undefined ? scroll.first : rows.indexOf(mark);
  const onHit = useCallback((step: 1 | -1) => goTo(hits.next(current, step)), [goTo, hits, current]);
  useTarget(target, model, goTo);
  const openLine = useCallback(
    async (line: LogLine) => {
      const index = rows.indexOf(line.id);
      if (index < 0) await feed.openAround(line);
      goTo(rows.indexOf(line.id));
    },
    [rows, feed, goTo],
  );
  const onNextError = () => {
    const below = errorBelow(rows.rows, current);
    if (below !== undefined) {
      goTo(below);
      return;
    }
    errorBeyond(source, filter, feed.state).then(
      (line) => (line ? openLine(line) : toast.info("The log has no error with these filters.")),
      (error: unknown) => toast.failed("The next error was not found", error),
    );
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts: Record<string, () => void> = {
      "/": () => searchField.current?.focus(),
      n: () => onHit(1),
      N: () => onHit(-1),
      e: onNextError,
      End: () => scroll.follow(true),
      Home: () => void scroll.toStart(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  const save = useDownload(source, label);
  const start = props.startTime ?? rows.rows[0]?.line.time;
  const theme = useTheme();
  const manyRanks = model.ranks.size > 1 || filter.ranks.length > 0;
  const rowLook = useMemo<RowLook>(
    () => ({ times: look.times, wrap: look.wrap, start: start ? Date.parse(start) : 0, ranks: manyRanks, theme }),
    [look.times, look.wrap, start, manyRanks, theme],
  );
  const link = useCallback(
    (id: string) => {
      setMark(id);
      onLink?.(`#L${id}`);
    },
    [onLink],
  );
  const unfold = useCallback(({ folded, line }: Row) => setOpened([...folded, line]), []);
  const from = Math.max(0, scroll.first - OVERSCAN);
  const to = Math.min(rows.rows.length, scroll.last + OVERSCAN);
  const { state } = feed;
  return (
    <section className={styles.viewer} aria-label={label}>
      <LogTools
        {...{ query, patternError, onHit, list, filter, look, searchField }}
        onQuery={setQuery}
        hit={mark === undefined ? 0 : hits.rows.indexOf(current) + 1}
        hits={hits.rows.length}
        onList={setList}
        onFilter={props.onFilter ?? setOwnFilter}
        ranks={[...model.ranks].sort((a, b) => a - b)}
        onLook={setLook}
        onNextError={onNextError}
        following={scroll.following && !state.ended}
        notFollowing={state.ended ? "The log has ended." : undefined}
        onFollow={scroll.follow}
        onDownload={save}
      />
      {state.error ? <ErrorNotice error={state.error} onRetry={() => void scroll.retry()} /> : null}
      <div className={styles.main}>
        <div
          ref={scroll.box}
          className={styles.box}
          role="region"
          aria-label={`${label}, lines`}
          tabIndex={0}
          onScroll={scroll.onScroll}
          onKeyDown={onKeyDown}
        >
          <div
            className={styles.sheet}
            data-wrap={look.wrap}
            data-ranks={manyRanks}
            style={{ height: rows.height * LINE_HEIGHT }}
          >
            <span ref={scroll.ruler} className={styles.ruler} aria-hidden>
              {"0".repeat(50)}
            </span>
            {rows.rows.slice(from, to).map((row, i) => (
              <LogRow
                key={row.line.id}
                row={row}
                top={rows.top(from + i) * LINE_HEIGHT}
                lines={rows.lineCount(row)}
                look={rowLook}
                matcher={matcher}
                marked={row.line.id === mark}
                onFold={unfold}
                onLink={link}
              />
            ))}
          </div>
          {rows.rows.length === 0 && <Nothing {...props} loading={Boolean(state.loading)} filtered={filter !== NO_FILTER} />}
        </div>
        {list && <HitList {...{ rows, hits, source, query, current }} onRow={goTo} onLine={openLine} onClose={() => setList(false)} />}
        {opened && <Folded lines={opened} onClose={() => setOpened(undefined)} />}
        {!scroll.following && scroll.unseen > 0 && (
          <button type="button" className={styles.unseen} onClick={() => scroll.follow(true)}>
            {scroll.unseen.toLocaleString("en")} new lines ↓
          </button>
        )}
      </div>
    </section>
  );
}

function Nothing({ loading, filtered, empty }: LogViewerProps & { loading: boolean; filtered: boolean }) {
  const text = loading ? "Loading the log" : filtered ? "No line matches the filters." : (empty ?? "The log has no lines yet.");
  return (
    <div className={styles.nothing} role="status">
      {text}
    </div>
  );
}

/** The states of a progress bar. */
function Folded({ lines, onClose }: { lines: readonly LogLine[]; onClose(): void }) {
  return (
    <aside className={styles.panel} aria-label="States of the progress bar">
      <div className={styles.panelHead}>
        <h3>{lines.length} states</h3>
        <button type="button" className={styles.regex} aria-label="Close" onClick={onClose}>
          ×
        </button>
      </div>
      <ol className={styles.hits}>
        {lines.slice(-1000).map((line) => (
          <li key={line.id} className={styles.state}>
            {line.text.replace(/[\r\n]+/g, " ").trim()}
          </li>
        ))}
      </ol>
    </aside>
  );
}

/** Gives the whole log to the browser's downloads; undefined where the source has no file. */
function useDownload(source: LogSource, name: string): (() => void) | undefined {
  return useMemo(() => {
    const { file } = source;
    if (!file) return undefined;
    return () => {
      toast.info("The log is being read");
      file().then(
        (content) => download(`${name}.log`, content),
        (error: unknown) => toast.failed("The log was not downloaded", error),
      );
    };
  }, [source, name]);
}

/** Pages back until the line of the address is loaded. */
const MAX_PAGES = 100;

function useTarget(
  target: string | undefined,
  { feed, rows, version }: { feed: ReturnType<typeof useLog>["model"]["feed"]; rows: ReturnType<typeof useLog>["model"]["rows"]; version: number },
  goTo: (index: number) => void,
): void {
  const id = /^#?L(.+)$/.exec(target ?? "")?.[1];
  const done = useRef<string>(undefined);
  const pages = useRef(0);
  useEffect(() => {
    pages.current = 0;
  }, [id]);
  useLayoutEffect(() => {
    if (!id || done.current === id || rows.rows.length === 0) return;
    const index = rows.indexOf(id);
    if (index >= 0) {
      done.current = id;
      goTo(index);
    } else if (feed.state.hasOlder && !feed.state.loading && pages.current++ < MAX_PAGES) void feed.older();
  }, [id, rows, feed, goTo, version]);
}
