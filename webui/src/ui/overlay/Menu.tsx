import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { Link } from "react-router";

import { Icon, type IconName } from "../icons/Icon";
import styles from "./Overlay.module.css";

export interface MenuItem {
  label: string;
  icon?: IconName;
  onSelect?: () => void;
  to?: string;
  danger?: boolean;
  /** Why the action cannot be done now. */
  disabledReason?: string | undefined;
  keys?: string;
}

export type MenuEntry = MenuItem | "separator" | { heading: string } | false | undefined;

/** True when a person can do nothing there: the menu's button is left out. */
export function isEmptyMenu(items: MenuEntry[]): boolean {
  return !items.some((each) => each && each !== "separator" && !("heading" in each));
}

/**
 * A menu of actions; `trigger` is a button. Falsy entries are left out.
 *
 * It is not modal: Radix would hide the page from assistive technology and leave it focusable.
 */
export function Menu({
  trigger,
  items,
  align = "end",
}: {
  trigger: ReactNode;
  items: MenuEntry[];
  align?: "start" | "end";
}) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <MenuContent items={items} align={align} />
    </DropdownMenu.Root>
  );
}

/** The open menu alone, for callers with a root of their own. */
export function MenuContent({
  items,
  align,
  onCloseAutoFocus,
}: {
  items: MenuEntry[];
  align: "start" | "end";
  onCloseAutoFocus?: (event: Event) => void;
}) {
  return (
    <DropdownMenu.Portal>
      <DropdownMenu.Content
        className={styles.menu}
        align={align}
        sideOffset={4}
        collisionPadding={8}
        {...(onCloseAutoFocus ? { onCloseAutoFocus } : {})}
      >
        {items.map((entry, index) => (
          <Entry key={index} entry={entry} />
        ))}
      </DropdownMenu.Content>
    </DropdownMenu.Portal>
  );
}

function Entry({ entry }: { entry: MenuEntry }) {
  if (!entry) return null;
  if (entry === "separator") return <DropdownMenu.Separator className={styles.separator} />;
  if ("heading" in entry)
    return <DropdownMenu.Label className={styles.label}>{entry.heading}</DropdownMenu.Label>;
  const inner = (
    <>
      {entry.icon && <Icon name={entry.icon} />}
      <span>{entry.label}</span>
      {entry.keys && <span className={styles.keys}>{entry.keys}</span>}
    </>
  );
  return (
    <DropdownMenu.Item
      className={styles.item}
      data-danger={entry.danger}
      disabled={Boolean(entry.disabledReason)}
      title={entry.disabledReason}
      onSelect={entry.onSelect}
      asChild={Boolean(entry.to)}
    >
      {entry.to ? <Link to={entry.to}>{inner}</Link> : inner}
    </DropdownMenu.Item>
  );
}
