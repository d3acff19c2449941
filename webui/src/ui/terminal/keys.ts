/** The keys that a terminal leaves to the page; programs in it get all others, Tab too. */
export type TerminalKey = "copy" | "leave" | "paste";

export const KEYS_HINT = "Ctrl Shift C copies, Ctrl Shift V pastes, Ctrl Shift L leaves the terminal.";

const KEYS: Readonly<Record<string, TerminalKey>> = { KeyC: "copy", KeyL: "leave", KeyV: "paste" };

type Pressed = Pick<KeyboardEvent, "type" | "code" | "ctrlKey" | "shiftKey" | "altKey" | "metaKey">;

export function terminalKey(event: Pressed): TerminalKey | undefined {
  const isOurs = event.type === "keydown" && event.ctrlKey && event.shiftKey && !event.altKey && !event.metaKey;
  return isOurs ? KEYS[event.code] : undefined;
}
