/** The state of a list, kept in the address: Back and Forward undo and redo changes of the view. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useNavigate, useNavigationType, useSearchParams } from "react-router";

import { request } from "@/api/client";

import { decodeList, encodeList, PARAMS, type ListState, type ViewState } from "./url";

/** Changes of one part within this time are one step of the history (a drag, typing). */
const ONE_STEP_MS = 1000;
/** Longer addresses are kept on the master, and the address has their short name (`?v=`). */
const LONG_ADDRESS = 3000;

export function useListState(base: ViewState) {
  const [params] = useSearchParams();
  const navigate = useNavigate();
  const kind = useNavigationType();
  const decoded = useMemo(() => decodeList(params, base), [params, base]);
  // The address follows a moment later; until then the next change builds on what was asked for.
  const [asked, setAsked] = useState<{ state: ListState; search: string }>();
  const search = params.toString();
  useEffect(() => {
    setAsked((old) => (old && (old.search === search || kind === "POP") ? undefined : old));
  }, [search, kind]);
  const state = asked?.state ?? decoded;
  const now = useRef({ state, base, params });
  now.current = { state, base, params };
  const step = useRef({ part: "", at: 0 });
  useLongAddress(params);

  /** `silent` changes, such as scrolling, are no step of the history. */
  const change = useCallback(
    (part: Partial<ListState>, { silent = false } = {}) => {
      const { state: old, base: origin, params: others } = now.current;
      const next = { ...old, ...part };
      // The next change in the same event builds on this one.
      now.current.state = next;
      const name = Object.keys(part).join();
      const isSameStep = step.current.part === name && Date.now() - step.current.at < ONE_STEP_MS;
      if (!silent) step.current = { part: name, at: Date.now() };
      const search = encodeList(next, origin, others).toString();
      if (search !== others.toString()) setAsked({ state: next, search });
      void navigate({ search }, { replace: silent || isSameStep, preventScrollReset: true });
    },
    [navigate],
  );
  return { state, change };
}

/** An address that is too long moves to the master; `?v=` of one is read from there. */
function useLongAddress(params: URLSearchParams): void {
  const navigate = useNavigate();
  const short = params.get("v");
  const text = params.toString();
  useEffect(() => {
    if (short) {
      const control = new AbortController();
      request<{ state: Record<string, string> }>("GET", `/api/ui/v1/links/${encodeURIComponent(short)}`, { signal: control.signal })
        .then(({ state }) => {
          const next = new URLSearchParams(text);
          next.delete("v");
          for (const name of PARAMS) if (typeof state[name] === "string") next.set(name, state[name]);
          void navigate({ search: next.toString() }, { replace: true });
        })
        // A master without links, or a link that has expired: the list without its state.
        .catch(() => undefined);
      return () => control.abort();
    }
    return undefined;
  }, [navigate, short, text]);
}

/** The address to share: a short one where the state is long and the master keeps links. */
export async function addressToShare(): Promise<string> {
  const url = new URL(location.href);
  if (url.search.length < LONG_ADDRESS) return url.href;
  const state = Object.fromEntries(PARAMS.flatMap((name) => (url.searchParams.has(name) ? [[name, url.searchParams.get(name)]] : [])));
  try {
    const { id } = await request<{ id: string }>("POST", "/api/ui/v1/links", { body: { state } });
    PARAMS.forEach((name) => url.searchParams.delete(name));
    url.searchParams.set("v", id);
  } catch {
    // The long address works as well, where the browser and the proxies take it.
  }
  return url.href;
}
