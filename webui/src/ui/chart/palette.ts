/**
 * The colours of series: eight hues per theme, then the same hues with dashes.
 *
 * A run keeps its hue in the whole UI: the hue follows from the run's id alone. Two runs of one
 * chart that share a hue differ by their dashes.
 */

export type Theme = "light" | "dark";

/** In an order in which neighbours, which runs of one search mostly are, look least alike. */
export const HUES: Record<Theme, readonly string[]> = {
  light: ["#0A58CA", "#E57431", "#75220A", "#AC1377", "#AD74FF", "#9D580C", "#780051", "#5799B6"],
  dark: ["#74ADFF", "#D89988", "#8A4AAD", "#DA3E05", "#5EEAE5", "#6A73FB", "#3F846B", "#C1E319"],
};

/** Canvas and SVG dash patterns in CSS px; the first is a full line. */
export const DASHES: readonly (readonly number[])[] = [
  [],
  [7, 4],
  [2, 3],
  [9, 3, 2, 3],
  [14, 5],
  [4, 2, 1, 2, 1, 2],
];

/** The most lines that all keep their hue; beyond it, lines that are not selected turn grey. */
export const MAX_COLOURED = 24;

/** The hue of a thing by its id. Neighbouring numeric ids get different hues. */
export function hueOf(id: string | number): number {
  const count = HUES.light.length;
  const number = Number(id);
  if (Number.isInteger(number)) return ((number % count) + count) % count;
  let hash = 0x811c9dc5;
  for (const char of String(id)) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
  return (hash >>> 0) % count;
}

export interface Style {
  hue: number;
  /** An index of `DASHES`. */
  dash: number;
}

/** The style of each series of a chart; equal keys (metrics of one run) share the hue. */
export function stylesOf(keys: readonly (string | number)[]): Style[] {
  const used = new Map<number, number>();
  return keys.map((key) => {
    const hue = hueOf(key);
    const dash = used.get(hue) ?? 0;
    used.set(hue, dash + 1);
    return { hue, dash: dash % DASHES.length };
  });
}

export function colourOf(hue: number, theme: Theme): string {
  const hues = HUES[theme];
  return hues[hue % hues.length] as string;
}

export function dashOf(dash: number): readonly number[] {
  return DASHES[dash % DASHES.length] as readonly number[];
}

/** From the worst to the best value of a metric; lightness is ordered, so it reads without hue. */
const RAMPS: Record<Theme, readonly (readonly [number, number, number])[]> = {
  light: [[229, 116, 49], [172, 19, 119], [20, 24, 92]],
  dark: [[112, 66, 160], [216, 120, 128], [246, 238, 140]],
};

/** The colour of a value between 0 (worst) and 1 (best). */
export function rampColour(part: number, theme: Theme): string {
  const stops = RAMPS[theme];
  const at = Math.max(0, Math.min(1, Number.isNaN(part) ? 0 : part)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  const [a, b] = [stops[low], stops[low + 1]] as [readonly number[], readonly number[]];
  const mixed = a.map((value, i) => Math.round(value + ((b[i] as number) - value) * (at - low)));
  return `rgb(${mixed.join(" ")})`;
}
