/** The utilization of all GPUs of a run over time: a row a GPU, so that one that idles stands out. */
import { useCallback, useMemo } from "react";

import { lineNames } from "@/data/profiler/charts";
import type { SystemSeries } from "@/data/profiler/samples";
import { columnsFor, stripOf } from "@/data/profiler/strip";
import { formatNumber, plural } from "@/data/format/numbers";
import { formatDuration, formatInstant } from "@/data/format/times";
import { CanvasChart, type Drawing } from "@/ui/chart/hp/CanvasChart";
import { areaOf, cut, rectangle, thinned } from "@/ui/chart/hp/frame";
import { rampColour } from "@/ui/chart/palette";
import type { Ink } from "@/ui/chart/plot/theme";

const ROW_PX = 18;
const MAX_PX = 420;
const AROUND_PX = 54;
const LABEL_PX = 150;
/** With fewer, the lines of a chart show it. */
export const LEAST_DEVICES = 4;

export function DeviceStrip({ series }: { series: readonly SystemSeries[] }) {
  const names = useMemo(() => series.map(lineNames(series)), [series]);
  const height = Math.min(MAX_PX, series.length * ROW_PX) + AROUND_PX;
  const layout = useCallback(
    (width: number, tall: number, ink: Ink): Drawing => {
      const plain = areaOf(width, tall);
      // Names of agents and devices are longer than numbers; a narrow window keeps room for cells.
      const left = Math.min(LABEL_PX, Math.max(plain.left, width / 3));
      const area = { ...plain, left, width: Math.max(20, plain.width - left + plain.left) };
      const columns = columnsFor(series, area.width);
      const { cells, from, to } = stripOf(series, columns);
      const [w, h] = [area.width / columns, area.height / series.length];
      const timeOf = (column: number) => from + ((to - from) * column) / columns;
      const rows = thinned(names.map((name, row) => ({ name, row })), area.height / 14);
      return {
        draw(pen) {
          for (const { row, column, mean } of cells)
            rectangle(pen, rampColour(mean / 100, ink.theme), {
              left: area.left + column * w,
              top: area.top + row * h + 1,
              width: w + 0.5,
              height: Math.max(1, h - 2),
            });
          for (const { name, row } of rows)
            pen.text(area.left - 8, area.top + (row + 0.5) * h + 4, cut(name, Math.floor((left - 12) / 7)), { colour: ink.text, anchor: "end" });
          for (const share of [0, 0.5, 1])
            pen.text(area.left + share * area.width, area.top + area.height + 16, formatDuration((to - from) * share), {
              colour: ink.text,
              anchor: share === 0 ? "start" : share === 1 ? "end" : "middle",
            });
          const busy = ink.theme === "dark" ? "lighter" : "darker";
          const caption = area.width > 260 ? `Time since the start; ${busy} is busier` : `${busy} is busier`;
          pen.text(area.left + area.width / 2, area.top + area.height + 36, caption, {
            colour: ink.text,
            anchor: "middle",
          });
        },
        points: cells.map(({ row, column, mean }) => ({
          id: `${row} ${column}`,
          x: area.left + (column + 0.5) * w,
          y: area.top + (row + 0.5) * h,
          text: `${names[row]}\n${formatInstant(new Date(timeOf(column) * 1000).toISOString())}\n${formatNumber(mean)} %`,
        })),
      };
    },
    [series, names],
  );
  const table = useMemo(
    () => ({
      columns: ["GPU", "Mean, %", "Least, %", "Greatest, %"],
      rows: series.map(({ last }, row) => [names[row], ...figuresOf(last)]),
    }),
    [series, names],
  );
  return (
    <CanvasChart
      title="GPU utilization of all GPUs"
      summary={`Utilization of ${plural(series.length, "GPU")} over time.`}
      {...{ height, layout, table }}
    />
  );
}

function figuresOf(values: readonly number[]): number[] {
  let [sum, least, most] = [0, Infinity, -Infinity];
  for (const value of values) {
    sum += value;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return [sum / Math.max(1, values.length), least, most].map((value) => Number(value.toPrecision(4)));
}
