import { Popover as Radix } from "radix-ui";
import { useRef, type ReactNode, type RefObject } from "react";

import styles from "./Overlay.module.css";

export interface PopoverPopupProps {
  id: string;
  label: string;
  align: "start" | "end";
  trigger: RefObject<HTMLElement | null>;
  onClose(): void;
  children: ReactNode;
}

/** An open popover beside its trigger. */
export default function PopoverPopup({ id, label, align, trigger, onClose, children }: PopoverPopupProps) {
  const isLeft = useRef(false);
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Anchor virtualRef={trigger as RefObject<HTMLElement>} />
      <Radix.Portal>
        <Radix.Content
          id={id}
          className={styles.popover}
          aria-label={label}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          onInteractOutside={(event) => {
            // Its own click closes the popover.
            if (trigger.current?.contains(event.target as Node)) event.preventDefault();
            else isLeft.current = true;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            if (!isLeft.current) trigger.current?.focus();
          }}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
