/** The keys of the UI, as people read them. The code behind them is in `shortcuts.ts` and `ui/table`. */
import { PLACES } from "./navigation";

export interface Shortcut {
  /** Keys in their order; `+` inside one means together. */
  keys: string[];
  act: string;
}

export interface ShortcutGroup {
  name: string;
  shortcuts: Shortcut[];
}

export const SHORTCUT_GROUPS: ShortcutGroup[] = [
  {
    name: "Everywhere",
    shortcuts: [
      { keys: ["Ctrl+K"], act: "Search or jump to a page, an experiment, a workspace, an action" },
      { keys: ["/"], act: "Go to the filter of the list" },
      { keys: ["["], act: "Show or hide the side bar" },
      { keys: ["?"], act: "Show these shortcuts" },
      { keys: ["Esc"], act: "Close what is open, one layer at a time" },
    ],
  },
  {
    name: "Go to",
    shortcuts: [
      ...PLACES.flatMap((place) => (place.key ? [{ keys: ["g", place.key], act: place.label }] : [])),
    ],
  },
  {
    name: "Lists",
    shortcuts: [
      { keys: ["j"], act: "Next row" },
      { keys: ["k"], act: "Previous row" },
      { keys: ["Home"], act: "First row" },
      { keys: ["End"], act: "Last row" },
      { keys: ["Enter"], act: "Open the row" },
      { keys: ["Space"], act: "Peek at the row, or select it" },
      { keys: ["x"], act: "Select the row" },
      { keys: ["Shift+X"], act: "Select up to the row" },
      { keys: ["Ctrl+A"], act: "Select all" },
      { keys: ["."], act: "Actions on the row" },
    ],
  },
];

/** Groups with the shortcuts that match a text. */
export function findShortcuts(text: string): ShortcutGroup[] {
  const word = text.trim().toLowerCase();
  return SHORTCUT_GROUPS.map(({ name, shortcuts }) => ({
    name,
    shortcuts: shortcuts.filter((each) => `${each.act} ${each.keys.join(" ")}`.toLowerCase().includes(word)),
  })).filter((group) => group.shortcuts.length > 0);
}
