/**
 * Colours of terminal text. The result is spans of plain text, never HTML. Every colour becomes one
 * of the theme's own, so that the text stays readable on both grounds.
 */

export type Ink = "black" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "white";

export interface Span {
  text: string;
  ink?: Ink;
  ground?: Ink;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
}

type Look = Omit<Span, "text">;

const INKS: readonly Ink[] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const ESC = "\u001b";

// Colours (group 1), other control sequences, titles and links, and single escapes.
 
const SEQUENCE = /\u001b\[([\d;:]*)m|\u001b\[[\d;:?<=>]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

export function parseAnsi(text: string): Span[] {
  if (!hasControl(text)) return [{ text }];
  const spans: Span[] = [];
  let look: Look = {};
  let at = 0;
  const push = (part: string) => {
    if (part) spans.push({ text: part, ...look });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    push(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[1] !== undefined && match[0].endsWith("m")) look = restyled(look, match[1]);
  }
  push(text.slice(at));
  return spans.length > 0 ? spans : [{ text: "" }];
}

/** The text that a person sees: for searches, copies and widths. */
export function stripAnsi(text: string): string {
  return hasControl(text) ? text.replace(SEQUENCE, "") : text;
}

function hasControl(text: string): boolean {
   
  return text.includes(ESC) || /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text);
}

function restyled(look: Look, codes: string): Look {
  const numbers = codes.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  let next: Look = { ...look };
  for (let i = 0; i < numbers.length; i++) {
    const code = numbers[i] as number;
    if (code === 38 || code === 48) {
      const [ink, used] = extended(numbers, i + 1);
      if (ink) next[code === 38 ? "ink" : "ground"] = ink;
      i += used;
    } else next = plain(next, code);
  }
  return next;
}

function plain(look: Look, code: number): Look {
  if (code === 0) return {};
  const next = { ...look };
  if (code === 1) next.bold = true;
  else if (code === 2) next.dim = true;
  else if (code === 3) next.italic = true;
  else if (code === 4) next.underline = true;
  else if (code === 22) {
    delete next.bold;
    delete next.dim;
  } else if (code === 23) delete next.italic;
  else if (code === 24) delete next.underline;
  else if (code === 39) delete next.ink;
  else if (code === 49) delete next.ground;
  else if (code >= 30 && code <= 37) next.ink = INKS[code - 30] as Ink;
  else if (code >= 40 && code <= 47) next.ground = INKS[code - 40] as Ink;
  else if (code >= 90 && code <= 97) next.ink = INKS[code - 90] as Ink;
  else if (code >= 100 && code <= 107) next.ground = INKS[code - 100] as Ink;
  return next;
}

/** Colours of the palette of 256, and of red, green and blue: the nearest of the eight. */
function extended(numbers: readonly number[], at: number): readonly [Ink | undefined, number] {
  if (numbers[at] === 5) {
    const index = numbers[at + 1] ?? 0;
    if (index < 16) return [INKS[index % 8], 2];
    if (index >= 232) return [index < 244 ? "black" : "white", 2];
    const cube = index - 16;
    const [r, g, b] = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6];
    return [nearestInk(r * 51, g * 51, b * 51), 2];
  }
  if (numbers[at] === 2)
    return [nearestInk(numbers[at + 1] ?? 0, numbers[at + 2] ?? 0, numbers[at + 3] ?? 0), 4];
  return [undefined, 1];
}

function nearestInk(r: number, g: number, b: number): Ink {
  const high = Math.max(r, g, b);
  const low = Math.min(r, g, b);
  if (high - low < 40) return high < 128 ? "black" : "white";
  const bright = (part: number) => part > low + (high - low) / 2;
  return INKS[(bright(r) ? 1 : 0) + (bright(g) ? 2 : 0) + (bright(b) ? 4 : 0)] as Ink;
}
