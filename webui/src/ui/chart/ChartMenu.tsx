/** The menu of a chart: files, link, table, zoom. */
import { IconButton } from "../button/Button";
import { toast } from "../feedback/toast";
import { Menu, type MenuEntry } from "../overlay/Menu";
import { copyText } from "../text/Copy";
import type { View } from "./ChartBody";
import { download } from "./export/download";
import { toPng, toSvg } from "./export/figure";
import { dataTable, toCsv, toJson } from "./export/table";
import type { LineChartProps } from "./LineChart";
import { smoothingText } from "./math/summary";
import type { ChartSettings, XAxis } from "./types";

export function ChartMenu({
  title,
  x,
  settings,
  chart,
  view,
  table,
  onTable,
}: {
  title: string;
  x: XAxis;
  settings: ChartSettings;
  chart: LineChartProps;
  view: View | undefined;
  table: boolean;
  onTable(table: boolean): void;
}) {
  const missing = view ? undefined : "The chart has no data.";
  const item = (label: string, act: (view: View) => void): MenuEntry => ({
    label,
    disabledReason: missing,
    onSelect: () => view && act(view),
  });
  const png = (ratio: number) => async ({ state, width, height }: View) => {
    try {
      const picture = await toPng({ title, state, smoothing: settings.smoothing, width, height }, ratio);
      download(`${title}.png`, picture);
    } catch (error) {
      toast.failed("The picture was not made", error);
    }
  };
  const { onExportAll } = chart;
  const items: MenuEntry[] = [
    { label: table ? "Show the chart" : "Show the data as a table", icon: "columns", onSelect: () => onTable(!table) },
    { label: "Show all of x", icon: "zoom", keys: "0", onSelect: () => view?.reset() },
    { label: "Copy link", icon: "link", onSelect: () => void copyLink(chart.link) },
    "separator",
    { heading: "Download" },
    item("PNG", png(1)),
    item("PNG, twice the size", png(2)),
    item("SVG", ({ state, width, height }) =>
      download(`${title}.svg`, toSvg({ title, state, smoothing: settings.smoothing, width, height }), "image/svg+xml"),
    ),
    item("CSV of the drawn data", ({ state }) =>
      download(`${title}.csv`, toCsv(dataTable(state.scene.traces, x, state.x, smoothingText(settings.smoothing))), "text/csv"),
    ),
    item("JSON of the drawn data", ({ state }) =>
      download(`${title}.json`, toJson(title, state.scene.traces, x, settings.smoothing), "application/json"),
    ),
    onExportAll && { label: "CSV of all values", onSelect: () => onExportAll("csv") },
    onExportAll && { label: "JSON of all values", onSelect: () => onExportAll("json") },
    ...(chart.menu && chart.menu.length > 0 ? (["separator", ...chart.menu] as MenuEntry[]) : []),
  ];
  return <Menu trigger={<IconButton small icon="more" label={`Menu of ${title}`} />} items={items} />;
}

async function copyLink(link: string | undefined): Promise<void> {
  await copyText(new URL(link ?? location.href, location.href).href);
  toast.done("The link is copied.");
}
