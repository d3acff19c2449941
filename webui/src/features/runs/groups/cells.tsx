/** Cells of a grouped or compared list. */
import { formatNumber, plural } from "@/data/format/numbers";
import { Icon } from "@/ui/icons/Icon";
import { Num } from "@/ui/text/Num";

import type { GroupHead } from "../item";
import type { Difference, Figures } from "./figures";
import styles from "./Groups.module.css";

/** The head of a group: its value and the number of its runs. */
export function HeadCell({ group, label, onToggle }: { group: GroupHead; label: string; onToggle(key: string): void }) {
  return (
    <button
      type="button"
      tabIndex={-1}
      className={styles.head}
      aria-expanded={group.isOpen}
      onClick={() => onToggle(group.key)}
    >
      <Icon name={group.isOpen ? "down" : "chevron"} size={14} />
      <span className={styles.label} title={label}>
        {label}
      </span>
      <span className={styles.count}>{plural(group.runs, "trial")}</span>
    </button>
  );
}

/** Mean and standard deviation; the range stands under them where the row is high enough. */
export function FiguresCell({
  figures,
  difference,
  format = formatNumber,
}: {
  figures: Figures | undefined;
  difference: Difference | undefined;
  format?: (value: number) => string;
}) {
  if (!figures) return <span className={styles.none}>–</span>;
  const { n, mean, std, min, max } = figures;
  const full = `mean ${mean}${std === undefined ? "" : `, standard deviation ${std}`}, least ${min}, greatest ${max}, of ${plural(n, "trial")}`;
  return (
    <span className={styles.figures} title={full}>
      <span>
        <strong>{format(mean)}</strong>
        {std !== undefined && <span className={styles.quiet}> ± {format(Number(std.toPrecision(2)))}</span>}
        {difference && <Delta difference={difference} format={format} />}
      </span>
      {n > 1 && (
        <span className={styles.range}>
          {format(min)} … {format(max)}
        </span>
      )}
    </span>
  );
}

/** A value with its difference to the baseline's. */
export function ComparedCell({ value, difference }: { value: number; difference: Difference | undefined }) {
  return (
    <>
      <Num value={value} />
      {difference && <Delta difference={difference} />}
    </>
  );
}

function Delta({ difference: { by, share }, format = formatNumber }: { difference: Difference; format?: (value: number) => string }) {
  const percent = share === undefined ? "" : ` (${signed(share * 100, formatNumber)} %)`;
  return (
    <span className={styles.delta} title={`${signed(by, String)}${percent} against the baseline`}>
      {signed(by, format)}
    </span>
  );
}

function signed(value: number, format: (value: number) => string): string {
  if (value === 0) return "±0";
  return `${value > 0 ? "+" : "−"}${format(Math.abs(value))}`;
}
