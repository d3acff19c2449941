/** The legend: hides and shows lines, and says what the drawing cannot. */
import { formatNumber, plural } from "@/data/format/numbers";

import styles from "./Chart.module.css";
import { extremes } from "./math/summary";
import type { Trace } from "./math/trace";
import { Swatch } from "./Swatch";

export function Legend({
  traces,
  hidden,
  onHidden,
  onHighlight,
}: {
  traces: readonly Trace[];
  hidden: ReadonlySet<string>;
  onHidden(hidden: ReadonlySet<string>): void;
  onHighlight(id: string | undefined): void;
}) {
  const toggle = (id: string) => {
    const next = new Set(hidden);
    if (!next.delete(id)) next.add(id);
    onHidden(next);
  };
  const isolate = (id: string) => {
    const others = traces.filter((each) => each.id !== id).map((each) => each.id);
    const alone = others.every((each) => hidden.has(each)) && !hidden.has(id);
    onHidden(new Set(alone ? [] : others));
  };
  return (
    <ul className={styles.legend} aria-label="Lines">
      {traces.map((trace) => (
        <li key={trace.id}>
          <button
            type="button"
            className={styles.legendItem}
            aria-pressed={!hidden.has(trace.id)}
            title={`${trace.label}\nClick hides or shows the line. Double click, or Alt with a click, shows it alone.`}
            onClick={(event) => (event.altKey ? isolate(trace.id) : toggle(trace.id))}
            onDoubleClick={() => isolate(trace.id)}
            onMouseEnter={() => onHighlight(trace.id)}
            onMouseLeave={() => onHighlight(undefined)}
            onFocus={() => onHighlight(trace.id)}
            onBlur={() => onHighlight(undefined)}
          >
            <Swatch colour={trace.colour} dash={trace.dash} />
            <span className={styles.legendLabel}>{trace.label}</span>
            <span className={`number ${styles.legendValue}`}>{formatNumber(extremes(trace.values).last)}</span>
            <Odd trace={trace} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function Odd({ trace: { nonFiniteCount, hidden } }: { trace: Trace }) {
  const texts = [
    nonFiniteCount > 0 && `${formatNumber(nonFiniteCount)} not finite`,
    hidden > 0 && `${plural(hidden, "point")} hidden (not above 0)`,
  ].filter(Boolean);
  return texts.length > 0 ? <span className={styles.legendOdd}>{texts.join(", ")}</span> : null;
}
