/** The values at the cursor. It has its own state, so that a moving pointer renders nothing else. */
import { useSyncExternalStore } from "react";

import { formatNumber } from "@/data/format/numbers";

import styles from "./Chart.module.css";
import { tooltipRows, type Hit } from "./math/nearest";
import { placeText } from "./math/summary";
import type { Pointer } from "./plot/Plot";
import { Swatch } from "./Swatch";
import type { Mark, XAxis } from "./types";

export interface Hover {
  pointer: Pointer;
  hits: readonly Hit[];
  marks: readonly Mark[];
}

/** A value that components watch: at most one change a frame. */
export class HoverStore {
  current: Hover | undefined;
  private listeners = new Set<() => void>();
  private frame = 0;

  set(next: Hover | undefined): void {
    this.current = next;
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.listeners.forEach((each) => each());
    });
  }

  watch = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  get = (): Hover | undefined => this.current;
}

export function Tooltip({ store, axis, width }: { store: HoverStore; axis: XAxis; width: number }) {
  const hover = useSyncExternalStore(store.watch, store.get);
  if (!hover || (hover.hits.length === 0 && hover.marks.length === 0)) return null;
  const { pointer, hits, marks } = hover;
  const { rows, more, nearest } = tooltipRows(hits, pointer.y);
  const right = pointer.left > width / 2;
  const side = right ? { right: width - pointer.left + 14 } : { left: pointer.left + 14 };
  return (
    <div className={styles.tooltip} style={{ ...side, top: 8 }} aria-hidden>
      <div className={styles.tooltipHead}>{placeText(nearest?.x ?? pointer.x, axis)}</div>
      {rows.map((hit) => (
        <div key={hit.trace.id} className={styles.tooltipRow} data-near={hit === nearest}>
          <Swatch colour={hit.trace.colour} dash={hit.trace.dash} />
          <span className={styles.tooltipLabel}>{hit.trace.label}</span>
          <span className="number">{hit.nonFinite ?? formatNumber(hit.value)}</span>
        </div>
      ))}
      {more > 0 && <div className={styles.tooltipMore}>{more} more</div>}
      {marks.map((mark) => (
        <div key={`${mark.kind}${mark.x}`} className={styles.tooltipMore}>
          {mark.label}
        </div>
      ))}
    </div>
  );
}
