import { useEffect, useMemo, useRef, useState } from "react";

import { PagedRows, type FetchPage } from "./pagedRows";
import type { Key } from "./types";

/** Lists that were left lately: on the way back their rows stand there at once. */
const kept = new Map<string, PagedRows<unknown>>();
const KEPT_LISTS = 6;
/** Rows that were read so lately are not read again on the way back. */
const FRESH_MS = 2000;

/**
 * The paged source of a list. `key` names the list with its query and sort; another key is another
 * list, and the rows of the last one stay until the first page of the new one is there.
 */
export function usePagedRows<R>(key: string, fetch: FetchPage<R>, keyOf: (row: R) => Key, at = 0) {
  const latest = useRef({ fetch, keyOf, at });
  latest.current = { fetch, keyOf, at };
  const wanted = useMemo(() => listOf<R>(key, latest.current), [key]);
  const [shown, setShown] = useState(wanted);
  useEffect(() => {
    if (wanted.total !== undefined || wanted.error !== undefined) {
      setShown(wanted);
      return;
    }
    return wanted.subscribe(() => setShown(wanted));
  }, [wanted]);
  const isOld = shown !== wanted && shown.total !== undefined;
  return { rows: isOld ? shown : wanted, wanted, isLoading: isOld };
}

function listOf<R>(
  key: string,
  { fetch, keyOf, at }: { fetch: FetchPage<R>; keyOf: (row: R) => Key; at: number },
): PagedRows<R> {
  const old = kept.get(key) as PagedRows<R> | undefined;
  kept.delete(key);
  const rows = old ?? new PagedRows<R>(fetch, keyOf);
  kept.set(key, rows as unknown as PagedRows<unknown>);
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT_LISTS) break;
    kept.delete(oldest);
  }
  // A render that React gave up has asked for the rows already.
  if (rows.readAt === 0) rows.ensure(at, at);
  else if (Date.now() - rows.readAt > FRESH_MS) rows.refresh();
  return rows;
}
