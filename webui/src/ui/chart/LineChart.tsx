/**
 * A chart of lines over steps or time.
 *
 *     <LineChart
 *       title="validation.loss"
 *       x="batches"
 *       series={[{ id: "12 loss", runId: 12, label: "run 12", x, y, min, max }]}
 *     />
 *
 * `series` must keep its identity while its data is the same. The charts of a page share cursor
 * and zoom inside a `ChartSyncProvider`. `settings` with `onSettings` is controlled; without them
 * the chart keeps its own.
 */
import { useCallback, useMemo, useState } from "react";

import { IconButton } from "../button/Button";
import { later } from "../later";
import { Dialog } from "../overlay/Dialog";
import type { MenuEntry } from "../overlay/Menu";
import { Popover } from "../overlay/Popover";
import styles from "./Chart.module.css";
import { ChartBody, type View } from "./ChartBody";
import { ChartMenu } from "./ChartMenu";
import { smoothingText } from "./math/summary";
import { DEFAULT_SETTINGS, type ChartSeries, type ChartSettings, type Mark, type XAxis } from "./types";

export interface LineChartProps {
  title: string;
  series: readonly ChartSeries[];
  x?: XAxis;
  marks?: readonly Mark[];
  settings?: ChartSettings;
  onSettings?(settings: ChartSettings): void;
  /** Height of the plot in CSS px. */
  height?: number;
  /** The series that a table beside the chart points at. */
  highlight?: string | undefined;
  onHighlight?(id: string | undefined): void;
  /** With more than 24 lines, the others are grey. */
  selected?: ReadonlySet<string>;
  /** The address that "Copy link" copies; the page's own by default. */
  link?: string;
  /** Offered as "all values" beside the files of the drawn data. */
  onExportAll?(format: "csv" | "json"): void;
  /** More entries of the chart's menu. */
  menu?: readonly MenuEntry[];
  /** Why there is nothing to draw. */
  empty?: string;
  loading?: boolean;
  /** Without legend and tools, for a small place. */
  bare?: boolean;
}

const SettingsPanel = later(() => import("./SettingsPanel"), { soon: true });

const NO_MARKS: readonly Mark[] = [];

export function LineChart(props: LineChartProps) {
  const { title, bare, height = 220 } = props;
  const [own, setOwn] = useState<ChartSettings>(DEFAULT_SETTINGS);
  const settings = props.settings ?? own;
  const setSettings = props.onSettings ?? setOwn;
  const [table, setTable] = useState(false);
  const [full, setFull] = useState(false);
  const [view, setView] = useState<View>();
  const takeView = useCallback((next: View) => setView(next), []);
  const x = props.x ?? "batches";
  const body = useMemo(
    () => ({ ...props, x, settings, onSettings: setSettings, marks: props.marks ?? NO_MARKS }),
    [props, x, settings, setSettings],
  );
  const note = smoothingText(settings.smoothing);
  const tools = (
    <div className={styles.tools}>
      <Popover
        label={`Settings of ${title}`}
        align="end"
        trigger={<IconButton small icon="settings" label="How the chart is drawn" />}
      >
        <SettingsPanel settings={settings} onSettings={setSettings} />
      </Popover>
      <ChartMenu {...{ title, x, settings, table }} chart={props} view={view} onTable={setTable} />
    </div>
  );
  return (
    <section className={styles.chart} data-bare={bare} aria-label={title}>
      {!bare && (
        <header className={styles.head}>
          <h3 className={styles.title} title={title}>
            {title}
          </h3>
          {note && <span className={styles.note}>{note}</span>}
          {tools}
          <IconButton small icon="maximize" label={`Show ${title} in full size`} onClick={() => setFull(true)} />
        </header>
      )}
      <ChartBody {...body} height={height} table={table} onView={takeView} />
      <Dialog open={full} onClose={() => setFull(false)} title={title} width={2400}>
        {note && <p className={styles.note}>{note}</p>}
        <ChartBody {...body} height={Math.max(240, window.innerHeight - 300)} table={table} />
      </Dialog>
    </section>
  );
}
