import { useCallback, useSyncExternalStore } from "react";

import type { RowSource } from "./types";

/** The source itself; the component draws again with each change of it. */
export function useSource<R>(source: RowSource<R>): RowSource<R> {
  useSyncExternalStore(
    useCallback((listener: () => void) => source.subscribe(listener), [source]),
    useCallback(() => source.getVersion(), [source]),
  );
  return source;
}
