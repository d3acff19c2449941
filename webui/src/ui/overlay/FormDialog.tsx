import { useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useId, useState, type ReactNode } from "react";

import { messageOf } from "@/api/errors";

import { Button } from "../button/Button";
import { Dialog } from "./Dialog";
import styles from "./FormDialog.module.css";
import { useUnsavedDialog } from "./unsaved";

/**
 * A form in a dialog: it closes after the master took it, and shows the reason of a refusal.
 *
 * What was typed stays in the fields of the caller after a refusal.
 */
export function FormDialog({
  title,
  description,
  action,
  onSubmit,
  onClose,
  refusal,
  keys,
  onRefused,
  width,
  danger,
  unsaved = false,
  children,
}: {
  title: ReactNode;
  description?: ReactNode;
  /** The verb of the submit button. */
  action: string;
  /** Throws to keep the dialog open; `false` keeps it open without an error. */
  onSubmit(): Promise<unknown>;
  onClose(): void;
  /** Why the form cannot be submitted now. */
  refusal?: string | undefined;
  /** Prefixes of the cache that the form made old; all of it by default. */
  keys?: QueryKey[];
  /** True when a field of the form shows the reason itself. */
  onRefused?(message: string): boolean;
  width?: number;
  danger?: boolean;
  /** Something long was typed: closing asks first. */
  unsaved?: boolean;
  children: ReactNode;
}) {
  const id = useId();
  const cache = useQueryClient();
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  // Text that is on its way to the master is not lost when the form moves on.
  const { close, release } = useUnsavedDialog(unsaved && !isBusy, onClose);
  const submit = async () => {
    if (refusal || isBusy) return;
    setBusy(true);
    setError("");
    try {
      if ((await onSubmit()) === false) return;
      release();
      onClose();
      if (keys) keys.forEach((queryKey) => void cache.invalidateQueries({ queryKey }));
      else void cache.invalidateQueries();
    } catch (failure) {
      const message = messageOf(failure);
      if (!onRefused?.(message)) setError(message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={close}
      title={title}
      description={description}
      {...(width ? { width } : {})}
      footer={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button
            type="submit"
            form={id}
            look={danger ? "danger" : "primary"}
            disabledReason={isBusy ? "The master is asked." : refusal}
          >
            {action}
          </Button>
        </>
      }
    >
      <form
        id={id}
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          event.stopPropagation();
          void submit();
        }}
      >
        {children}
        {error && (
          <p role="alert" className={styles.error}>
            {error}
          </p>
        )}
      </form>
    </Dialog>
  );
}
