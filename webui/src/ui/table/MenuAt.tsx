import { DropdownMenu } from "radix-ui";

import { MenuContent, type MenuEntry } from "../overlay/Menu";
import styles from "./DataTable.module.css";

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
  const { left, top, width, height } = at;
  return (
    <DropdownMenu.Root open modal={false} onOpenChange={(open) => !open && onClose()}>
      <DropdownMenu.Trigger asChild>
        <span aria-hidden="true" className={styles.anchor} style={{ left, top, width, height }} />
      </DropdownMenu.Trigger>
      <MenuContent
        items={items}
        align="start"
        onCloseAutoFocus={(event) => {
          event.preventDefault();
          onClosed();
        }}
      />
    </DropdownMenu.Root>
  );
}
