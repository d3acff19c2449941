/**
 * Stacked bars by day, for a card: a cursor by mouse and keyboard, and the same as a table.
 *
 *     <DayBars title="Submissions" days={["2026-01-30", "2026-01-31"]}
 *       parts={[{ label: "Completed", colour: "var(--done)", values: [3, 1] }]} />
 */
import { useState, type KeyboardEvent, type PointerEvent } from "react";

import { formatNumber } from "@/data/format/numbers";

import { IconButton } from "../button/Button";
import { PlainTable } from "../layout/Card";
import { dayText, sumsOf, toDay, type DayPart } from "./days";
import styles from "./DayBars.module.css";

export interface DayBarsProps {
  title: string;
  days: readonly string[];
  parts: readonly DayPart[];
  /** Text of a value; its unit too. */
  format?: (value: number) => string;
  height?: number;
}

export function DayBars({ title, days, parts, format = formatNumber, height = 96 }: DayBarsProps) {
  const [at, setAt] = useState<number>();
  const [table, setTable] = useState(false);
  const sums = sumsOf(days.length, parts);
  const most = Math.max(...sums, 0);
  const total = sums.reduce((sum, each) => sum + each, 0);
  const shown = at === undefined ? undefined : Math.min(at, days.length - 1);
  const text =
    shown === undefined
      ? `${format(total)} in ${days.length} days`
      : dayText(days[shown] ?? "", parts.map((part) => [part.label, part.values[shown] ?? 0]), format);
  const onKey = (event: KeyboardEvent) => {
    const next = toDay(event.key, shown, days.length);
    if (next === "none") return;
    event.preventDefault();
    setAt(next);
  };
  const onPointer = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = Math.floor(((event.clientX - box.left) / box.width) * days.length);
    setAt(Math.max(0, Math.min(days.length - 1, place)));
  };
  return (
    <div className={styles.chart}>
      <div className={styles.head}>
        <span className={styles.text} aria-live="off">
          {text}
        </span>
        <IconButton small icon={table ? "bars" : "columns"} label={table ? `${title} as bars` : `${title} as a table`} onClick={() => setTable(!table)} />
      </div>
      {table ? (
        <div className={styles.table}>
          <PlainTable label={title} columns={["Day", ...parts.map((part) => part.label)]}>
            {days.map((day, place) => (
              <tr key={day}>
                <td className="number">{day}</td>
                {parts.map((part) => (
                  <td key={part.label} className="number">
                    {format(part.values[place] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </PlainTable>
        </div>
      ) : (
        <>
          <div
            className={styles.plot}
            style={{ height }}
            role="slider"
            tabIndex={0}
            aria-label={`${title}: ${format(total)} in ${days.length} days. Arrow keys read the days.`}
            aria-orientation="horizontal"
            aria-valuemin={1}
            aria-valuemax={days.length}
            aria-valuenow={(shown ?? days.length - 1) + 1}
            aria-valuetext={text}
            onKeyDown={onKey}
            onBlur={() => setAt(undefined)}
            onPointerMove={onPointer}
            onPointerLeave={() => setAt(undefined)}
          >
            {days.map((day, place) => (
              <div key={day} className={styles.day} data-at={place === shown || undefined}>
                {parts.map((part) => {
                  const value = part.values[place] ?? 0;
                  return value > 0 && most > 0 ? <div key={part.label} style={{ height: `${(100 * value) / most}%`, background: part.colour }} /> : null;
                })}
              </div>
            ))}
          </div>
          <div className={styles.axis} aria-hidden="true">
            <span>{days[0]?.slice(5)}</span>
            <span>{days.at(-1)?.slice(5)}</span>
          </div>
        </>
      )}
      {parts.length > 1 && (
        <ul className={styles.legend} aria-label={`Parts of ${title}`}>
          {parts.map((part) => (
            <li key={part.label}>
              <span className={styles.swatch} style={{ background: part.colour }} aria-hidden="true" />
              {part.label} <span className="number">{format(part.values.reduce((sum, each) => sum + each, 0))}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
