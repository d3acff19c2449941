/** The hits of a search beside the log: those of the loaded lines, and of the whole log. */
import { useState } from "react";

import { formatNumber, plural } from "@/data/format/numbers";

import { Button, IconButton } from "../button/Button";
import { ErrorNotice } from "../feedback/Feedback";
import { stripAnsi } from "./ansi";
import styles from "./Log.module.css";
import type { Rows } from "./rows";
import type { Hits } from "./search";
import type { LogLine, LogQuery, LogSource } from "./types";

const MAX_HITS = 500;

export function HitList({
  rows,
  hits,
  source,
  query,
  current,
  onRow,
  onLine,
  onClose,
}: {
  rows: Rows;
  hits: Hits;
  source: LogSource;
  query: LogQuery;
  current: number;
  onRow(index: number): void;
  onLine(line: LogLine): void;
  onClose(): void;
}) {
  const [whole, setWhole] = useState<{ query: LogQuery; lines?: LogLine[]; error?: unknown }>();
  const search = async () => {
    setWhole({ query });
    try {
      setWhole({ query, lines: (await source.search?.(query)) ?? [] });
    } catch (error) {
      setWhole({ query, error });
    }
  };
  const valid = whole?.query === query ? whole : undefined;
  const shown = hits.rows.slice(-MAX_HITS);
  return (
    <aside className={styles.panel} aria-label="Hits">
      <div className={styles.panelHead}>
        <h3>{query.text ? plural(hits.rows.length, "hit") : "Hits"}</h3>
        {source.search && query.text && (
          <Button small onClick={() => void search()}>
            Search the whole log
          </Button>
        )}
        <IconButton small icon="close" label="Close the list" onClick={onClose} />
      </div>
      {!query.text && <p className="hint">Type a text to search for.</p>}
      {valid?.error ? <ErrorNotice error={valid.error} onRetry={() => void search()} /> : null}
      {valid && !valid.lines && !valid.error && <p className="hint">Searching the whole log</p>}
      <ol className={styles.hits}>
        {valid?.lines
          ? valid.lines.map((line) => (
              <li key={line.id}>
                <button type="button" className={styles.hit} onClick={() => onLine(line)}>
                  {stripAnsi(line.text).trim().slice(0, 300)}
                </button>
              </li>
            ))
          : shown.map((index) => (
              <li key={index}>
                <button type="button" className={styles.hit} aria-current={index === current} onClick={() => onRow(index)}>
                  {rows.rows[index]?.plain.trim().slice(0, 300)}
                </button>
              </li>
            ))}
      </ol>
      {valid?.lines && <p className="hint">{plural(valid.lines.length, "line")} of the whole log.</p>}
      {!valid?.lines && hits.rows.length > MAX_HITS && (
        <p className="hint">The newest {formatNumber(MAX_HITS)} of {formatNumber(hits.rows.length)}.</p>
      )}
    </aside>
  );
}
