/**
 * Charts in sections by the prefix of their metric.
 *
 *     <ChartGrid ids={["training.loss", "validation.acc"]} layout={layout} onLayout={setLayout}>
 *       {(id, { height, menu }) => <MetricChart id={id} height={height} menu={menu} />}
 *     </ChartGrid>
 *
 * The function is called for charts in view only: a chart that reads its own data reads it then.
 */
import { useDeferredValue, useMemo, useState, type CSSProperties, type ReactNode } from "react";

import { plural } from "@/data/format/numbers";

import { Button } from "../button/Button";
import { Segments, TextField } from "../field/Field";
import { Icon } from "../icons/Icon";
import type { MenuEntry } from "../overlay/Menu";
import { InView } from "./InView";
import styles from "./Grid.module.css";
import { CHARTS_A_STEP, DEFAULT_LAYOUT, movedId, searchIds, sectionsOf, withFirst, withinBudget, withSection, type GridLayout, type GridSize, type Section } from "./math/grid";

const SIZES: Record<GridSize, { width: number; height: number }> = {
  S: { width: 280, height: 150 },
  M: { width: 420, height: 220 },
  L: { width: 720, height: 340 },
};
/** Heads and charts that a step draws. */
const BUDGET = 240;
/** Head and legend around the plot, until the chart was measured. */
const AROUND = 80;

export interface CellProps {
  height: number;
  /** At least so wide, in px, where the page is. */
  width: number;
  /** Entries for the chart's menu. */
  menu: MenuEntry[];
}

export interface ChartGridProps {
  ids: readonly string[];
  /** The chart that matters most: its section stands first. */
  first?: string | undefined;
  layout?: GridLayout;
  onLayout?(layout: GridLayout): void;
  /** Controls beside the search. */
  controls?: ReactNode;
  children(id: string, cell: CellProps): ReactNode;
}

export function ChartGrid({ ids, first, controls, children, ...given }: ChartGridProps) {
  const [own, setOwn] = useState(DEFAULT_LAYOUT);
  const layout = given.layout ?? own;
  const setLayout = given.onLayout ?? setOwn;
  const [pattern, setPattern] = useState("");
  const [steps, setSteps] = useState(1);
  const search = useDeferredValue(pattern);
  const found = useMemo(() => searchIds(ids, search), [ids, search]);
  const sections = useMemo(
    () => withFirst(sectionsOf(found.ids, layout.order), first, layout.order),
    [found, layout.order, first],
  );
  const shown = useMemo(
    () => withinBudget(sections, search ? [] : layout.closed, steps * BUDGET),
    [sections, search, layout.closed, steps],
  );
  const toggle = (name: string) => {
    const closed = layout.closed.includes(name) ? layout.closed.filter((each) => each !== name) : [...layout.closed, name];
    setLayout({ ...layout, closed });
  };
  return (
    <div className={styles.grid}>
      <div className={styles.bar}>
        <div className={styles.search}>
          <TextField
            label="Search charts"
            hideLabel
            type="search"
            placeholder="Search charts, also by pattern: loss|acc"
            value={pattern}
            error={found.error && `Wrong pattern: ${found.error}`}
            onChange={(event) => setPattern(event.target.value)}
          />
        </div>
        <span className="hint" role="status">
          {search ? `${found.ids.length} of ${plural(ids.length, "chart")}` : plural(ids.length, "chart")}
        </span>
        <span className="grow" />
        {controls}
        <Segments<GridSize>
          label="Size of the charts"
          value={layout.size}
          options={[
            { value: "S", label: "S" },
            { value: "M", label: "M" },
            { value: "L", label: "L" },
          ]}
          onValue={(size) => setLayout({ ...layout, size })}
        />
      </div>
      {shown.map((section) => (
        <SectionView
          key={section.name}
          section={section}
          size={layout.size}
          open={search !== "" || !layout.closed.includes(section.name)}
          onToggle={() => toggle(section.name)}
          onOrder={(order) => setLayout({ ...layout, order: withSection(layout.order, order) })}
        >
          {children}
        </SectionView>
      ))}
      {shown.length < sections.length && (
        <div className="row">
          <Button look="quiet" onClick={() => setSteps(steps + 1)}>
            Show more sections
          </Button>
          <span className="hint">
            {shown.length} of {plural(sections.length, "section")}. The search covers all of them.
          </span>
        </div>
      )}
      {sections.length === 0 && <p className="hint">{ids.length === 0 ? "There are no metrics yet." : "No chart has such a name."}</p>}
    </div>
  );
}

function SectionView({
  section: { name, ids },
  size,
  open,
  onToggle,
  onOrder,
  children,
}: {
  section: Section;
  size: GridSize;
  open: boolean;
  onToggle(): void;
  onOrder(ids: string[]): void;
  children: ChartGridProps["children"];
}) {
  const [steps, setSteps] = useState(1);
  const [dragged, setDragged] = useState<string>();
  const { width, height } = SIZES[size];
  const shown = ids.slice(0, steps * CHARTS_A_STEP);
  const menuOf = (id: string, at: number): MenuEntry[] => [
    { heading: "Place in the section" },
    { label: "Move to the front", disabledReason: at === 0 ? "It is the first." : undefined, onSelect: () => onOrder(movedId(ids, id, 0)) },
    { label: "Move forward", disabledReason: at === 0 ? "It is the first." : undefined, onSelect: () => onOrder(movedId(ids, id, at - 1)) },
    { label: "Move back", disabledReason: at === ids.length - 1 ? "It is the last." : undefined, onSelect: () => onOrder(movedId(ids, id, at + 1)) },
  ];
  return (
    <section aria-label={name}>
      <h2 className={styles.sectionHead}>
        <button type="button" className={styles.toggle} aria-expanded={open} onClick={onToggle}>
          <Icon name={open ? "down" : "chevron"} />
          {name}
          <span className="hint">{ids.length}</span>
        </button>
      </h2>
      {open && (
        <div className={styles.cells} style={{ "--least": `${width}px` } as CSSProperties}>
          {shown.map((id, at) => (
            <div
              key={id}
              className={styles.cell}
              data-over={dragged !== undefined && dragged !== id}
              onDragOver={(event) => dragged && event.preventDefault()}
              onDrop={(event) => {
                event.preventDefault();
                if (dragged) onOrder(movedId(ids, dragged, at));
                setDragged(undefined);
              }}
            >
              <div
                className={styles.handle}
                draggable
                title="Drag to another place"
                onDragStart={(event) => {
                  event.dataTransfer.setData("text/plain", id);
                  setDragged(id);
                }}
                onDragEnd={() => setDragged(undefined)}
                aria-hidden
              />
              <InView height={height + AROUND}>{() => children(id, { height, width, menu: menuOf(id, at) })}</InView>
            </div>
          ))}
        </div>
      )}
      {open && shown.length < ids.length && (
        <div className="row">
          <Button look="quiet" onClick={() => setSteps(steps + 1)}>
            Show {Math.min(CHARTS_A_STEP, ids.length - shown.length)} more
          </Button>
          <span className="hint">
            {shown.length} of {plural(ids.length, "chart")}
          </span>
        </div>
      )}
    </section>
  );
}
