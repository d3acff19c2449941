/** Scales of the y axis. Charts draw in the scale's own space, in which pixels are linear. */
import type { YScale } from "../types";

export interface Scale {
  kind: YScale;
  /** From a value into the scale's space; NaN where the scale has no place for it. */
  to(value: number): number;
  from(place: number): number;
  /** Symlog is linear below this size. */
  threshold: number;
}

export function makeScale(kind: YScale, threshold = 1): Scale {
  if (kind === "log")
    return {
      kind,
      threshold,
      to: (value) => (value > 0 ? Math.log10(value) : NaN),
      from: (place) => 10 ** place,
    };
  if (kind === "symlog")
    return {
      kind,
      threshold,
      to: (value) => Math.asinh(value / threshold / 2) / Math.LN10,
      from: (place) => Math.sinh(place * Math.LN10) * threshold * 2,
    };
  return { kind, threshold, to: (value) => value, from: (place) => place };
}

/** A power of ten below which few of the values lie; symlog is linear under it. */
export function symlogThreshold(lists: Iterable<ArrayLike<number>>): number {
  const sizes: number[] = [];
  for (const list of lists) {
    const step = Math.max(1, Math.floor(list.length / 500));
    for (let i = 0; i < list.length; i += step) {
      const size = Math.abs(list[i] as number);
      if (size > 0 && Number.isFinite(size)) sizes.push(size);
    }
  }
  if (sizes.length === 0) return 1;
  const low = quantile(sizes.sort((a, b) => a - b), 0.05);
  return 10 ** Math.max(-300, Math.floor(Math.log10(low)));
}

/** The value below which the fraction `q` of the sorted values lies. */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const a = sorted[low] as number;
  const b = sorted[Math.min(low + 1, sorted.length - 1)] as number;
  return a + (b - a) * (at - low);
}
