/** The axis and the zoom of a page's charts, which stand in the address. */
import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";

import type { SeriesAxis } from "@/data/series/types";
import type { Range } from "@/ui/chart/types";

export function useChartAddress(fallback: SeriesAxis) {
  const [params, setParams] = useSearchParams();
  const x = (params.get("x") ?? fallback) as SeriesAxis;
  const zoom = params.get("zoom");
  const range = useMemo(() => rangeOf(zoom), [zoom]);
  const change = useCallback(
    (name: string, value: string | undefined) =>
      setParams(
        (old) => {
          const next = new URLSearchParams(old);
          if (value) next.set(name, value);
          else next.delete(name);
          if (name !== "zoom") next.delete("zoom");
          return next;
        },
        { replace: true },
      ),
    [setParams],
  );
  const onRange = useCallback((next: Range | undefined) => change("zoom", next?.join("~")), [change]);
  return { params, x, range, change, onRange };
}

/** `120~900` as a range; anything else is none. */
export function rangeOf(text: string | null): Range | undefined {
  const [from, to] = (text ?? "").split("~").map(Number);
  if (from === undefined || to === undefined || !Number.isFinite(from) || !(to > from)) return undefined;
  return [from, to];
}
