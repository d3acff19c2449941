import { cloneElement, useId, useRef, useState, type KeyboardEvent, type PointerEvent, type ReactElement } from "react";

import type { ButtonProps } from "../button/Button";
import type { IconName } from "../icons/Icon";
import { later } from "../later";

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

export const MenuPopup = later(() => import("./MenuPopup"), { soon: true });

/** True when a person can do nothing there: the menu's button is left out. */
export function isEmptyMenu(items: MenuEntry[]): boolean {
  return !items.some((each) => each && each !== "separator" && !("heading" in each));
}

/** A menu of actions; `trigger` is a button. Falsy entries are left out. */
export function Menu({
  trigger,
  items,
  align = "end",
}: {
  trigger: ReactElement<ButtonProps>;
  items: MenuEntry[];
  align?: "start" | "end";
}) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const props: ButtonProps = {
    id: `${id}-button`,
    ref: button,
    "aria-haspopup": "menu",
    "aria-expanded": isOpen,
    "aria-controls": isOpen ? id : undefined,
    // Before the click, as menus of the system do, and before the open menu hears of it.
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0 || event.ctrlKey) return;
      setOpen(!isOpen);
      // The menu takes the focus.
      if (!isOpen) event.preventDefault();
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (!["Enter", " ", "ArrowDown"].includes(event.key)) return;
      setOpen(event.key === "ArrowDown" || !isOpen);
      event.preventDefault();
    },
  };
  return (
    <>
      {cloneElement(trigger, props)}
      {isOpen && (
        <MenuPopup
          id={id}
          labelledBy={`${id}-button`}
          items={items}
          align={align}
          anchor={button}
          onClose={() => setOpen(false)}
          onClosed={(isLeft) => {
            if (!isLeft) button.current?.focus();
          }}
        />
      )}
    </>
  );
}
