/** Ticks and their labels. Two ticks of an axis never have the same label. */
import { ticks as niceTicks } from "d3-array";

import { formatDuration } from "@/data/format/times";

import type { Range, XAxis } from "../types";
import type { Scale } from "./scales";

/** Places of ticks in the scale's space: about `count`, and at least two. */
export function yTicks(range: Range, scale: Scale, count: number): number[] {
  // Steps below the resolution of numbers give a place twice.
  if (scale.kind === "linear") return [...new Set(pairOrMore(range[0], range[1], count))];
  if (scale.kind === "log") return logTicks(range, count);
  return symlogTicks(range, scale, count);
}

/** Nice values from low to high. The nice step for a small count may have one multiple alone. */
function pairOrMore(low: number, high: number, count: number): number[] {
  for (let asked = count; asked < 3 * count; asked++) {
    const values = niceTicks(low, high, asked);
    if (values.length >= 2) return values;
  }
  return niceTicks(low, high, 3 * count);
}

/** Digits of the labels of each decade, from the densest. */
const DECADE_STEPS = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]];

/** The densest steps whose labels have room; nice values where a decade has no two of them. */
function logTicks([low, high]: Range, count: number): number[] {
  const gap = (high - low) / count / 1.6;
  for (const steps of DECADE_STEPS) {
    const places = decadePlaces([low, high], steps, 1);
    const isApart = places.every((place, i) => i === 0 || place - (places[i - 1] as number) >= gap);
    if (places.length >= 2 && isApart) return places;
  }
  for (let every = Math.ceil((high - low) / count); every > 1; every--) {
    const places = decadePlaces([low, high], [1], every);
    if (places.length >= 2) return places;
  }
  // Nice values stand closer and closer on a logarithm: those without room are left out.
  for (let asked = count; asked < 10 * count; asked++) {
    const places = niceTicks(10 ** low, 10 ** high, asked).filter((value) => value > 0).map(Math.log10);
    const apart = fromTheTop(places, gap);
    if (apart.length >= 2) return apart;
  }
  return pairOrMore(low, high, count);
}

function decadePlaces([low, high]: Range, steps: readonly number[], every: number): number[] {
  const places: number[] = [];
  for (let power = Math.floor(low / every) * every; power <= high; power += every)
    for (const step of steps) {
      const place = power + Math.log10(step);
      if (place >= low && place <= high) places.push(place);
    }
  return places;
}

/** Ascending places at least `gap` apart, the highest first among those that are too close. */
function fromTheTop(places: readonly number[], gap: number): number[] {
  const apart: number[] = [];
  for (const place of [...places].reverse())
    if (apart.length === 0 || (apart[0] as number) - place >= gap) apart.unshift(place);
  return apart;
}

function symlogTicks([low, high]: Range, scale: Scale, count: number): number[] {
  const values = [0];
  const top = Math.max(Math.abs(scale.from(low)), Math.abs(scale.from(high)));
  const first = Math.round(Math.log10(scale.threshold));
  const last = Math.min(307, Math.floor(Math.log10(Math.max(top, scale.threshold))));
  const both = low < 0 && high > 0 ? 2 : 1;
  const every = Math.max(1, Math.ceil(((last - first + 1) * both) / count));
  for (let power = first; power <= last; power += every) values.push(10 ** power, -(10 ** power));
  const places = values.map(scale.to).filter((place) => place >= low && place <= high);
  const apart = spread(places, (high - low) / count / 2);
  if (apart.length >= 2) return apart;
  return niceTicks(scale.from(low), scale.from(high), count).map(scale.to);
}

/** Places at least `gap` apart, in order; zero, then the outermost ones, are kept first. */
function spread(places: readonly number[], gap: number): number[] {
  const kept: number[] = [];
  const byNeed = [...places].sort((a, b) => (a === 0 ? -1 : b === 0 ? 1 : Math.abs(b) - Math.abs(a)));
  for (const place of byNeed)
    if (kept.every((other) => Math.abs(other - place) >= gap)) kept.push(place);
  return kept.sort((a, b) => a - b);
}

/** Labels of values on one axis: as few digits as keep them distinct. */
export function distinctLabels(values: readonly number[]): string[] {
  const largest = values.reduce((size, value) => Math.max(size, Math.abs(value)), 0);
  const smallest = values.reduce(
    (size, value) => (value === 0 ? size : Math.min(size, Math.abs(value))),
    Infinity,
  );
  const powers = largest >= 1e7 || (largest > 0 && largest < 1e-3) || smallest < largest * 1e-5;
  for (let digits = 3; digits <= 17; digits++) {
    const labels = values.map((value) => label(value, digits, powers));
    if (new Set(labels).size === values.length && exact(labels, values, digits)) return labels;
  }
  return values.map(String);
}

/** With enough digits a label is close to its value, not only different from the others. */
function exact(labels: readonly string[], values: readonly number[], digits: number): boolean {
  if (digits >= 15 || values.length < 2) return true;
  const sorted = [...values].sort((a, b) => a - b);
  let gap = Infinity;
  for (let i = 1; i < sorted.length; i++)
    gap = Math.min(gap, (sorted[i] as number) - (sorted[i - 1] as number));
  return labels.every(
    (text, i) => Math.abs(Number(text.replaceAll(",", "")) - (values[i] as number)) <= gap / 20,
  );
}

function label(value: number, digits: number, powers: boolean): string {
  if (value === 0) return "0";
  if (powers) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e") as [string, string];
    return `${Number(mantissa)}e${Number(exponent)}`;
  }
  const rounded = Number(value.toPrecision(digits));
  const [whole, rest] = String(rounded).split(".") as [string, string | undefined];
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return rest ? `${grouped}.${rest}` : grouped;
}

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const TIME_STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE,
  5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 6 * HOUR, 8 * HOUR,
  12 * HOUR,
  DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 364 * DAY,
];

export function xTicks(range: Range, axis: XAxis, count: number): number[] {
  if (axis !== "relative" && axis !== "time") {
    const whole = axis === "batches";
    return niceTicks(range[0], range[1], count).filter((value) => !whole || Number.isInteger(value));
  }
  const step = timeStep(range[1] - range[0], count);
  // Ticks of wall time stand at whole minutes, hours and days of the browser's zone.
  const offset =
    axis === "time" ? new Date(range[0] * 1000).getTimezoneOffset() * MINUTE : 0;
  const found: number[] = [];
  const first = Math.ceil((range[0] - offset) / step);
  for (let i = first; i * step + offset <= range[1] && found.length < 100; i++)
    found.push(i * step + offset);
  return found;
}

function timeStep(span: number, count: number): number {
  const wanted = span / Math.max(1, count);
  return TIME_STEPS.find((step) => step >= wanted) ?? Math.ceil(wanted / (364 * DAY)) * 364 * DAY;
}

export function xLabels(values: readonly number[], axis: XAxis): string[] {
  if (axis === "relative") return values.map(spanLabel);
  if (axis === "time") return timeLabels(values);
  return distinctLabels(values);
}

function spanLabel(seconds: number): string {
  if (seconds !== 0 && !Number.isInteger(seconds)) return `${Number(seconds.toFixed(3))}s`;
  return seconds < 0 ? `-${formatDuration(-seconds)}` : formatDuration(seconds).replace(/ 00[ms]$/, "");
}

function timeLabels(values: readonly number[]): string[] {
  const step = values.length > 1 ? (values[1] as number) - (values[0] as number) : DAY;
  let day = "";
  return values.map((value) => {
    const at = new Date(value * 1000);
    const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    if (step >= DAY) return date;
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
    const seconds = step < MINUTE ? `:${two(at.getSeconds())}` : "";
    const part = step < 1 ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "";
    const isNew = date !== day;
    day = date;
    const time = clock + seconds + part;
    return isNew ? `${date.slice(5)} ${time}` : time;
  });
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
