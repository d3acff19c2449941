/** Smoothing of a line. Gaps stay gaps: no value is made where none was. */
import type { Numbers, Smoothing } from "../types";

export function smooth(x: Numbers, y: Numbers, { kind, amount }: Smoothing): Float64Array {
  if (kind === "ema") return ema(x, y, amount);
  if (kind === "mean") return runningMean(y, amount);
  if (kind === "gaussian") return gaussian(y, amount);
  return Float64Array.from(y);
}

/**
 * An exponential average whose memory is measured on the x axis: a point after a long pause
 * counts for more than one of a dense stretch.
 */
export function ema(x: Numbers, y: Numbers, weight: number): Float64Array {
  const out = new Float64Array(y.length);
  const keep = Math.min(0.999, Math.max(0, weight));
  const spacing = meanSpacing(x, y);
  let last = NaN;
  let lastX = NaN;
  for (let i = 0; i < y.length; i++) {
    const value = y[i] as number;
    if (!Number.isFinite(value)) {
      out[i] = NaN;
      continue;
    }
    const at = x[i] as number;
    const steps = spacing > 0 ? (at - lastX) / spacing : 1;
    const kept = Number.isNaN(last) ? 0 : keep ** Math.max(steps, 1e-6);
    last = Number.isNaN(last) ? value : last * kept + value * (1 - kept);
    lastX = at;
    out[i] = last;
  }
  return out;
}

function meanSpacing(x: Numbers, y: Numbers): number {
  let first = -1;
  let last = -1;
  let count = 0;
  for (let i = 0; i < y.length; i++) {
    if (!Number.isFinite(y[i] as number)) continue;
    if (first < 0) first = i;
    last = i;
    count += 1;
  }
  return count > 1 ? ((x[last] as number) - (x[first] as number)) / (count - 1) : 0;
}

/** The mean of `points` values around each; fewer at the ends. */
export function runningMean(y: Numbers, points: number): Float64Array {
  const half = Math.max(0, Math.floor(points / 2));
  const sums = new Float64Array(y.length + 1);
  const counts = new Uint32Array(y.length + 1);
  // Sums of distances to a middle value lose less precision than sums of large values.
  const base = firstFinite(y);
  for (let i = 0; i < y.length; i++) {
    const value = y[i] as number;
    const known = Number.isFinite(value);
    sums[i + 1] = (sums[i] as number) + (known ? value - base : 0);
    counts[i + 1] = (counts[i] as number) + (known ? 1 : 0);
  }
  return Float64Array.from({ length: y.length }, (_, i) => {
    if (!Number.isFinite(y[i] as number)) return NaN;
    const from = Math.max(0, i - half);
    const to = Math.min(y.length, i + half + 1);
    const count = (counts[to] as number) - (counts[from] as number);
    return base + ((sums[to] as number) - (sums[from] as number)) / count;
  });
}

function firstFinite(y: Numbers): number {
  for (let i = 0; i < y.length; i++) if (Number.isFinite(y[i] as number)) return y[i] as number;
  return 0;
}

/** Weights of a bell with a deviation of `sigma` points, cut at three deviations. */
export function gaussian(y: Numbers, sigma: number): Float64Array {
  const reach = Math.max(1, Math.ceil(sigma * 3));
  const bell = Float64Array.from({ length: reach + 1 }, (_, d) =>
    Math.exp(-(d * d) / (2 * sigma * sigma)),
  );
  const out = new Float64Array(y.length);
  for (let i = 0; i < y.length; i++) {
    if (!Number.isFinite(y[i] as number)) {
      out[i] = NaN;
      continue;
    }
    let sum = 0;
    let weights = 0;
    const to = Math.min(y.length - 1, i + reach);
    for (let j = Math.max(0, i - reach); j <= to; j++) {
      const value = y[j] as number;
      if (!Number.isFinite(value)) continue;
      const weight = bell[Math.abs(i - j)] as number;
      sum += value * weight;
      weights += weight;
    }
    out[i] = sum / weights;
  }
  return out;
}
