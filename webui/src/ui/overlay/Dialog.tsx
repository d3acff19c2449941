import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

import { later } from "../later";
import { recentFocus } from "./recentFocus";

const DialogPopup = later(() => import("./DialogPopup"), { soon: true });

export interface DialogProps {
  open: boolean;
  onClose(): void;
  title: ReactNode;
  description?: ReactNode;
  children?: ReactNode;
  /** Buttons; the primary one last. */
  footer?: ReactNode;
  /** Width in px. */
  width?: number;
  /** `drawer` opens at the right edge and leaves the list beside it visible. */
  kind?: "dialog" | "drawer";
  /** A dialog that must be answered has no close button. */
  closable?: boolean;
}

/** A modal dialog. Focus moves in, is kept inside, and returns to the opener. */
export function Dialog(props: DialogProps) {
  const { open } = props;
  const before = useRef<readonly HTMLElement[]>([]);
  const [isWanted, setWanted] = useState(open);
  if (open && !isWanted) setWanted(true);
  useLayoutEffect(() => {
    if (open) before.current = recentFocus();
  }, [open]);
  return (
    isWanted && (
      <DialogPopup {...props} before={before} />
    )
  );
}
