import { cloneElement, useId, useRef, useState, type ReactElement, type ReactNode } from "react";

import type { ButtonProps } from "../button/Button";
import { later } from "../later";

const PopoverPopup = later(() => import("./PopoverPopup"), { soon: true });

/** Content beside its trigger, a button; `label` names it for assistive technology. */
export function Popover({
  trigger,
  label,
  children,
  align = "start",
  open,
  onOpenChange,
}: {
  trigger: ReactElement<ButtonProps>;
  label: string;
  children: ReactNode;
  align?: "start" | "end";
  open?: boolean;
  onOpenChange?(open: boolean): void;
}) {
  const [own, setOwn] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const isOpen = open ?? own;
  const change = (next: boolean) => {
    setOwn(next);
    onOpenChange?.(next);
  };
  const props: ButtonProps = {
    ref: button,
    "aria-haspopup": "dialog",
    "aria-expanded": isOpen,
    "aria-controls": isOpen ? id : undefined,
    onClick: () => change(!isOpen),
  };
  return (
    <>
      {cloneElement(trigger, props)}
      {isOpen && (
        <PopoverPopup id={id} label={label} align={align} trigger={button} onClose={() => change(false)}>
          {children}
        </PopoverPopup>
      )}
    </>
  );
}
