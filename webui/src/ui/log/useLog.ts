/** A log as a component sees it: rows, hits, and acts. Re-renders at most once a frame. */
import { useEffect, useMemo, useReducer, useRef } from "react";

import { LogFeed } from "./feed";
import { Rows, type RowOptions } from "./rows";
import { Hits, makeMatcher } from "./search";
import type { LogFilter, LogQuery, LogSource } from "./types";

export interface LogModel {
  feed: LogFeed;
  rows: Rows;
  hits: Hits;
  /** Lines that the last page put above the others, in text lines: the scroll position moves by it. */
  grownAbove: number;
  ranks: Set<number>;
  version: number;
}

export function useLog(source: LogSource, filter: LogFilter, options: Omit<RowOptions, "filter">, query: LogQuery) {
  const [, render] = useReducer((n: number) => n + 1, 0);
  const filtered = useMemo(() => source.withFilter?.(filter) ?? source, [source, filter]);
  const model = useMemo(() => makeModel(filtered, filter), [filtered, filter]);
  const rowOptions = useMemo(
    () => ({ filter, columns: options.columns, fold: options.fold }),
    [filter, options.columns, options.fold],
  );
  const { matcher, error } = useMemo(
    () => makeMatcher({ text: query.text, regex: query.regex }),
    [query.text, query.regex],
  );
  const frame = useRef(0);

  useEffect(() => {
    const later = () => {
      frame.current ||= requestAnimationFrame(() => {
        frame.current = 0;
        render();
      });
    };
    model.onChange = later;
    void model.feed.openAtEnd();
    return () => {
      model.feed.close();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    };
  }, [model]);
  useMemo(() => model.rebuild(rowOptions), [model, rowOptions]);
  useMemo(() => model.hits.restart(matcher, model.rows.rows), [model, matcher]);
  return { model, matcher, patternError: error };
}

function makeModel(source: LogSource, filter: LogFilter) {
  const rows = new Rows();
  const hits = new Hits();
  const model = {
    rows,
    hits,
    grownAbove: 0,
    ranks: new Set<number>(),
    version: 0,
    onChange: () => undefined as void,
    feed: undefined as unknown as LogFeed,
    rebuild(options: RowOptions) {
      rows.rebuild(model.feed.state.lines, options);
      hits.again(rows.rows);
      model.version += 1;
    },
  };
  model.feed = new LogFeed(source, (change, added) => {
    for (const { rank } of added) if (rank !== undefined) model.ranks.add(rank);
    if (change === "append") {
      rows.append(added);
      hits.extend(rows.rows);
    } else if (change !== "state") {
      const before = rows.height;
      model.rebuild(rows.options);
      if (change === "prepend") model.grownAbove += rows.height - before;
    }
    model.version += 1;
    model.onChange();
  });
  rows.options = { ...rows.options, filter };
  return model;
}
