import { useMemo } from "react";

import { MenuPopup, type MenuEntry } from "../overlay/Menu";

export interface OpenMenu {
  items: MenuEntry[];
  at: DOMRect;
  /** Gets the focus back; the table by default. */
  opener?: HTMLElement | undefined;
}

/** One menu for all rows and headers, at the place of the button that asked for it. */
export function MenuAt({
  items,
  at,
  onClose,
  onClosed,
}: OpenMenu & {
  onClose(): void;
  /** The menu is gone: now the focus can move. */
  onClosed(): void;
}) {
  const anchor = useMemo(() => ({ current: { getBoundingClientRect: () => at } }), [at]);
  return (
    <MenuPopup items={items} align="start" anchor={anchor} onClose={onClose} onClosed={onClosed} />
  );
}
