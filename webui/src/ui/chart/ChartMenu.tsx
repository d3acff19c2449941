/** The menu of a chart: files, link, table, zoom. */
import { IconButton } from "../button/Button";
import { toast } from "../feedback/toast";
import { Menu, type MenuEntry } from "../overlay/Menu";
import { copyText } from "../text/Copy";
import type { View } from "./ChartBody";
import type { FileKind, SavedChart } from "./export/files";
import type { LineChartProps } from "./LineChart";
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
  const item = (label: string, kind: FileKind): MenuEntry => ({
    label,
    disabledReason: missing,
    onSelect: () => view && void save(kind, { title, x, smoothing: settings.smoothing, view }),
  });
  const { onExportAll } = chart;
  const items: MenuEntry[] = [
    { label: table ? "Show the chart" : "Show the data as a table", icon: "columns", onSelect: () => onTable(!table) },
    { label: "Show all of x", icon: "zoom", keys: "0", onSelect: () => view?.reset() },
    { label: "Copy link", icon: "link", onSelect: () => void copyLink(chart.link) },
    "separator",
    { heading: "Download" },
    item("PNG", "png"),
    item("PNG, twice the size", "png twice"),
    item("SVG", "svg"),
    item("CSV of the drawn data", "csv"),
    item("JSON of the drawn data", "json"),
    onExportAll && { label: "CSV of all values", onSelect: () => onExportAll("csv") },
    onExportAll && { label: "JSON of all values", onSelect: () => onExportAll("json") },
    ...(chart.menu && chart.menu.length > 0 ? (["separator", ...chart.menu] as MenuEntry[]) : []),
  ];
  return <Menu trigger={<IconButton small icon="more" label={`Menu of ${title}`} />} items={items} />;
}

async function save(kind: FileKind, chart: SavedChart): Promise<void> {
  try {
    const { saveFile } = await import("./export/files");
    await saveFile(kind, chart);
  } catch (error) {
    toast.failed("The file was not made", error);
  }
}

async function copyLink(link: string | undefined): Promise<void> {
  await copyText(new URL(link ?? location.href, location.href).href);
  toast.done("The link is copied.");
}
