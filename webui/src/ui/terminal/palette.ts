/** The colours of a terminal, from our tokens: its own 16 and those of text and cursor. */
import type { ITheme } from "@xterm/xterm";

const TOKENS = {
  background: "--bg-1",
  foreground: "--text-1",
  cursor: "--accent",
  cursorAccent: "--bg-1",
  selectionBackground: "--selected",
  selectionInactiveBackground: "--bg-3",
  scrollbarSliderBackground: "--line-1",
  scrollbarSliderHoverBackground: "--line-2",
  scrollbarSliderActiveBackground: "--line-2",
  red: "--failed",
  green: "--done",
  yellow: "--paused",
  blue: "--accent",
  magenta: "--waiting",
  cyan: "--preparing",
  brightRed: "--failed",
  brightGreen: "--done",
  brightYellow: "--paused",
  brightBlue: "--accent",
  brightMagenta: "--waiting",
  brightCyan: "--preparing",
  brightBlack: "--text-3",
} satisfies Partial<Record<keyof ITheme, string>>;

/** Black and white are the page's darkest and lightest, so programs that paint with them are read. */
const LIGHT = { black: "--text-1", white: "--bg-3", brightWhite: "--bg-1" } as const;
const DARK = { black: "--bg-0", white: "--text-2", brightWhite: "--text-1" } as const;

/** The colours of the theme in force. */
export function terminalTheme(isDark: boolean): ITheme {
  const style = getComputedStyle(document.documentElement);
  const tokens = { ...TOKENS, ...(isDark ? DARK : LIGHT) };
  return Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, style.getPropertyValue(token).trim()]));
}
