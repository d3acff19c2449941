import { useMemo } from "react";

import { formatHours } from "@/data/format/times";
import type { ActivityDay } from "@/data/overview";
import { DayBars } from "@/ui/chart/DayBars";
import { Card, Cards } from "@/ui/layout/Card";

import styles from "./Home.module.css";

/** Submissions and slot hours of the person by day; `undefined` while they are read. */
export function Activity({ days }: { days: readonly ActivityDay[] | undefined }) {
  const charts = useMemo(() => days && chartsOf(days), [days]);
  return (
    <Cards least={400}>
      <Card title="Your submissions">
        {charts ? (
          <DayBars title="Your submissions" days={charts.names} parts={charts.outcomes} />
        ) : (
          <div className={styles.coming} data-legend="" />
        )}
      </Card>
      <Card title="Your slot hours">
        {charts ? <DayBars title="Your slot hours" days={charts.names} parts={charts.hours} format={formatHours} /> : <div className={styles.coming} />}
      </Card>
    </Cards>
  );
}

/** Days are those of UTC, as in the reports on usage. */
export function chartsOf(days: readonly ActivityDay[]) {
  const of = (label: string, colour: string, value: (day: ActivityDay) => number) => ({ label, colour, values: days.map(value) });
  return {
    names: days.map((day) => day.day),
    outcomes: [
      of("Completed", "var(--done)", (day) => day.completed),
      of("Failed", "var(--failed)", (day) => day.failed),
      of("Open or canceled", "var(--running)", (day) => Math.max(0, day.submitted - day.completed - day.failed)),
    ],
    hours: [of("Slot hours", "var(--running)", (day) => day.slotSeconds / 3600)],
  };
}
