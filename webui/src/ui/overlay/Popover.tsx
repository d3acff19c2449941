import { Popover as Radix } from "radix-ui";
import type { ReactNode } from "react";

import styles from "./Overlay.module.css";

/** Content beside its trigger; `label` names it for assistive technology. */
export function Popover({
  trigger,
  label,
  children,
  align = "start",
  open,
  onOpenChange,
}: {
  trigger: ReactNode;
  label: string;
  children: ReactNode;
  align?: "start" | "end";
  open?: boolean;
  onOpenChange?(open: boolean): void;
}) {
  const control = open === undefined ? {} : { open, ...(onOpenChange ? { onOpenChange } : {}) };
  return (
    <Radix.Root {...control}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          className={styles.popover}
          aria-label={label}
          align={align}
          sideOffset={4}
          collisionPadding={8}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
