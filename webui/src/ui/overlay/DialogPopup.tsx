import { Dialog as Radix } from "radix-ui";
import type { CSSProperties, RefObject } from "react";

import { IconButton } from "../button/Button";
import type { DialogProps } from "./Dialog";
import styles from "./Overlay.module.css";
import { giveFocusTo } from "./recentFocus";

/** The open dialog; `before` had the focus. */
export default function DialogPopup({
  open,
  onClose,
  title,
  description,
  children,
  footer,
  width,
  kind = "dialog",
  closable = true,
  before,
}: DialogProps & { before: RefObject<readonly HTMLElement[]> }) {
  const style = width ? ({ "--width": `${width}px` } as CSSProperties) : undefined;
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && closable && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={styles.scrim} />
        <Radix.Content
          className={kind === "drawer" ? styles.drawer : styles.dialog}
          style={style}
          onCloseAutoFocus={(event) => {
            // Radix gives the focus to its own trigger, and our dialogs have none.
            event.preventDefault();
            giveFocusTo(before.current);
          }}
          {...(description ? {} : { "aria-describedby": undefined })}
          onEscapeKeyDown={(event) => {
            // In an editor Escape closes its search or its list first.
            if (editorTakes(event.target)) event.preventDefault();
          }}
        >
          <div className={styles.head}>
            <Radix.Title asChild>
              <h2>{title}</h2>
            </Radix.Title>
            {closable && <IconButton icon="close" label="Close" onClick={onClose} />}
          </div>
          {description && (
            <Radix.Description asChild>
              <div className={styles.description}>{description}</div>
            </Radix.Description>
          )}
          <div className={styles.body} tabIndex={-1}>
            {children}
          </div>
          {footer && <div className={styles.foot}>{footer}</div>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function editorTakes(target: EventTarget | null): boolean {
  const editor = (target as Element | null)?.closest?.(".cm-editor");
  return Boolean(editor?.querySelector(".cm-search, .cm-tooltip-autocomplete"));
}
