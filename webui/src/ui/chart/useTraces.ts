/** The traces of a chart: gaps, smoothing, scale and colours applied to its series. */
import { useMemo } from "react";

import { makeScale, symlogThreshold, type Scale } from "./math/scales";
import { traceOf, withGaps, type Trace } from "./math/trace";
import { useSmoothed } from "./math/useSmoothed";
import { colourOf, dashOf, MAX_COLOURED, stylesOf, type Theme } from "./palette";
import { inkOf } from "./plot/theme";
import type { ChartSeries, ChartSettings } from "./types";

export function useTraces(
  series: readonly ChartSeries[],
  settings: ChartSettings,
  theme: Theme,
  selected: ReadonlySet<string> | undefined,
): { traces: readonly Trace[]; scale: Scale } {
  const gapped = useMemo(() => series.map(withGaps), [series]);
  const smoothed = useSmoothed(gapped, settings.smoothing);
  const styles = useMemo(() => stylesOf(series.map((each) => each.runId ?? each.id)), [series]);
  const scale = useMemo(
    () =>
      makeScale(
        settings.yScale,
        settings.yScale === "symlog" ? symlogThreshold(gapped.map((each) => each.y)) : 1,
      ),
    [settings.yScale, gapped],
  );
  const traces = useMemo(() => {
    const crowded = series.length > MAX_COLOURED && selected !== undefined;
    const grey = inkOf(theme).muted;
    return series.map((each, i) => {
      const style = styles[i] as { hue: number; dash: number };
      const muted = crowded && !selected.has(each.id);
      return traceOf(each, gapped[i] as (typeof gapped)[number], smoothed?.[i], scale, {
        colour: muted ? grey : colourOf(style.hue, theme),
        dash: muted ? [] : dashOf(style.dash),
        width: muted ? 1 : 1.5,
      });
    });
  }, [series, gapped, smoothed, styles, scale, theme, selected]);
  return { traces, scale };
}
