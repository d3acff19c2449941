import { useState } from "react";

import { IconButton } from "../button/Button";
import styles from "./InlineText.module.css";

/** A text that is edited where it stands: Enter or leaving it saves, Escape keeps the old one. */
export function InlineText({
  label,
  value,
  onSave,
  placeholder = "None",
}: {
  /** `description of detector` */
  label: string;
  value: string;
  /** Without it the text is read only. */
  onSave?: ((text: string) => Promise<unknown>) | undefined;
  placeholder?: string;
}) {
  const [draft, setDraft] = useState<string>();
  const save = async () => {
    if (draft !== undefined && draft.trim() !== value) await onSave?.(draft.trim());
    setDraft(undefined);
  };
  if (draft !== undefined)
    return (
      <input
        className={styles.input}
        aria-label={`Edit the ${label}`}
        autoFocus
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={() => void save()}
        onClick={(event) => event.stopPropagation()}
        onDoubleClick={(event) => event.stopPropagation()}
        onKeyDown={(event) => {
          if (event.key === "Enter") void save();
          if (event.key === "Escape") setDraft(undefined);
          event.stopPropagation();
        }}
      />
    );
  return (
    <span className={styles.text} title={value || undefined}>
      <span className={value ? "truncate" : "hint truncate"}>{value || placeholder}</span>
      {onSave && (
        <IconButton
          icon="edit"
          label={`Edit the ${label}`}
          small
          onClick={(event) => {
            event.stopPropagation();
            setDraft(value);
          }}
        />
      )}
    </span>
  );
}
