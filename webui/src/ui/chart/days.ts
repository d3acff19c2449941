/** Numbers by day: sums, words, and the keys that move between days. */
export interface DayPart {
  label: string;
  /** A token. */
  colour: string;
  /** One for each day. */
  values: readonly number[];
}

export function sumsOf(days: number, parts: readonly DayPart[]): number[] {
  return Array.from({ length: days }, (_, at) => parts.reduce((sum, part) => sum + (part.values[at] ?? 0), 0));
}

/** `2026-01-31: 3 completed, 1 failed`; with one part only its value. */
export function dayText(day: string, values: readonly (readonly [string, number])[], format: (value: number) => string): string {
  const [only] = values;
  if (values.length === 1 && only) return `${day}: ${format(only[1])}`;
  const there = values.filter(([, value]) => value > 0);
  if (there.length === 0) return `${day}: none`;
  return `${day}: ${there.map(([label, value]) => `${format(value)} ${label.toLowerCase()}`).join(", ")}`;
}

/** The day that a key moves to; `none` for other keys, undefined for no day. */
export function toDay(key: string, at: number | undefined, days: number): number | undefined | "none" {
  const last = days - 1;
  if (days === 0) return "none";
  switch (key) {
    case "ArrowLeft":
    case "ArrowDown":
      return at === undefined ? last : Math.max(0, at - 1);
    case "ArrowRight":
    case "ArrowUp":
      return at === undefined ? last : Math.min(last, at + 1);
    case "Home":
      return 0;
    case "End":
      return last;
    case "Escape":
      return at === undefined ? "none" : undefined;
    default:
      return "none";
  }
}
