import * as Radix from "@radix-ui/react-menu";
import { useRef, type RefObject } from "react";
import { Link } from "react-router";

import { Icon } from "../icons/Icon";
import type { MenuEntry } from "./Menu";
import styles from "./Overlay.module.css";

export interface MenuPopupProps {
  items: MenuEntry[];
  align: "start" | "end";
  /** What it opens beside. */
  anchor: RefObject<Anchor | null>;
  /** Id of the element that names the menu. */
  labelledBy?: string;
  id?: string;
  onClose(): void;
  /** The menu is gone; `isLeft` where a person has gone on elsewhere on the page. */
  onClosed(isLeft: boolean): void;
}

export interface Anchor {
  getBoundingClientRect(): DOMRect;
}

/**
 * An open menu.
 *
 * It is not modal: Radix would hide the page from assistive technology and leave it focusable.
 */
export default function MenuPopup({ items, align, anchor, labelledBy, id, onClose, onClosed }: MenuPopupProps) {
  const isLeft = useRef(false);
  return (
    <Radix.Root open modal={false} onOpenChange={(open) => !open && onClose()}>
      <Radix.Anchor virtualRef={anchor as RefObject<Anchor>} />
      <Radix.Portal>
        <Radix.Content
          className={styles.menu}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          onInteractOutside={() => {
            isLeft.current = true;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            onClosed(isLeft.current);
          }}
          {...(id ? { id } : {})}
          {...(labelledBy ? { "aria-labelledby": labelledBy } : {})}
        >
          {items.map((entry, index) => (
            <Entry key={index} entry={entry} />
          ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Entry({ entry }: { entry: MenuEntry }) {
  if (!entry) return null;
  if (entry === "separator") return <Radix.Separator className={styles.separator} />;
  if ("heading" in entry) return <Radix.Label className={styles.label}>{entry.heading}</Radix.Label>;
  const inner = (
    <>
      {entry.icon && <Icon name={entry.icon} />}
      <span>{entry.label}</span>
      {entry.keys && <span className={styles.keys}>{entry.keys}</span>}
    </>
  );
  return (
    <Radix.Item
      className={styles.item}
      data-danger={entry.danger}
      disabled={Boolean(entry.disabledReason)}
      title={entry.disabledReason}
      onSelect={entry.onSelect}
      asChild={Boolean(entry.to)}
    >
      {entry.to ? <Link to={entry.to}>{inner}</Link> : inner}
    </Radix.Item>
  );
}
