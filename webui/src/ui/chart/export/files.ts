/** The files of a chart, loaded when the first one is asked for. */
import type { View } from "../ChartBody";
import { smoothingText } from "../math/summary";
import type { Smoothing, XAxis } from "../types";
import { download } from "./download";
import { toPng, toSvg } from "./figure";
import { dataTable, toCsv, toJson } from "./table";

export type FileKind = "png" | "png twice" | "svg" | "csv" | "json";

export interface SavedChart {
  title: string;
  x: XAxis;
  smoothing: Smoothing;
  view: View;
}

/** Saves what the chart draws now. Raises where the browser cannot make the picture. */
export async function saveFile(kind: FileKind, { title, x, smoothing, view }: SavedChart): Promise<void> {
  const { state, width, height } = view;
  const figure = { title, state, smoothing, width, height };
  const { traces } = state.scene;
  if (kind === "svg") return download(`${title}.svg`, toSvg(figure), "image/svg+xml");
  if (kind === "csv")
    return download(`${title}.csv`, toCsv(dataTable(traces, x, state.x, smoothingText(smoothing))), "text/csv");
  if (kind === "json")
    return download(`${title}.json`, toJson(title, traces, x, smoothing), "application/json");
  download(`${title}.png`, await toPng(figure, kind === "png" ? 1 : 2));
}
