/** Numbers as people read them. The full value belongs into a title and into copies. */

/** Four significant digits; `NaN` and infinities by name. */
export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "Infinity";
  if (value === -Infinity) return "-Infinity";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return groupDigits(String(value));
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return trimExponent(value.toExponential(3));
  return String(Number(value.toPrecision(4)));
}

/** The number in a JSON value of the wire, where NaN and infinities are text. */
export function wireNumber(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (value === "NaN") return NaN;
  if (value === "Infinity") return Infinity;
  if (value === "-Infinity") return -Infinity;
  if (typeof value === "string" && value.trim() !== "" && !Number.isNaN(Number(value)))
    return Number(value);
  return undefined;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Bytes with IEC units; the wire has 64-bit integers as text. */
export function formatBytes(value: number | string | null | undefined): string {
  if (value === null || value === undefined) return "–";
  let size = Number(value);
  let unit = 0;
  while (Math.abs(size) >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : Number(size.toPrecision(3))} ${UNITS[unit]}`;
}

export function formatPercent(fraction: number | null | undefined): string {
  if (fraction === null || fraction === undefined) return "–";
  return `${Math.round(fraction * 100)} %`;
}

/** `1 trial`, `1,204 trials`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${groupDigits(String(count))} ${count === 1 ? one : many}`;
}

/** `1204` as `1,204`. */
export function groupDigits(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function trimExponent(text: string): string {
  return text.replace(/\.?0+e/, "e").replace("e+", "e");
}
