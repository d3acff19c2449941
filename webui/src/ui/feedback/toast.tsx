/** Short messages about the result of an act; they never carry the only copy of a fact. */
import { useCallback, useEffect, useSyncExternalStore, type ReactNode } from "react";

import { messageOf } from "@/api/errors";

import { Button, IconButton } from "../button/Button";
import styles from "./Feedback.module.css";

interface Toast {
  id: number;
  kind: "done" | "info" | "error";
  text: ReactNode;
  undo?: (() => void) | undefined;
}

const LIFE_MS = 6000;
const UNDO_LIFE_MS = 10_000;
const MAX_SHOWN = 4;

let toasts: readonly Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(change: readonly Toast[]): void {
  toasts = change;
  listeners.forEach((each) => each());
}

function add(toast: Omit<Toast, "id">): void {
  set([...toasts, { ...toast, id: next++ }].slice(-MAX_SHOWN));
}

export const toast = {
  done: (text: ReactNode, undo?: () => void) => add({ kind: "done", text, undo }),
  info: (text: ReactNode) => add({ kind: "info", text }),
  error: (text: ReactNode) => add({ kind: "error", text }),
  /** For `catch` of an act of the user. */
  failed: (act: string, error: unknown) => add({ kind: "error", text: `${act}: ${messageOf(error)}` }),
};

export function ToastHost() {
  const shown = useSyncExternalStore(
    useCallback((listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    }, []),
    () => toasts,
  );
  return (
    <div className={styles.toasts}>
      <div role="status" aria-live="polite" className="stack" style={{ gap: 8 }}>
        {shown
          .filter((each) => each.kind !== "error")
          .map((each) => (
            <ToastCard key={each.id} toast={each} />
          ))}
      </div>
      <div role="alert" className="stack" style={{ gap: 8 }}>
        {shown
          .filter((each) => each.kind === "error")
          .map((each) => (
            <ToastCard key={each.id} toast={each} />
          ))}
      </div>
    </div>
  );
}

function ToastCard({ toast: { id, kind, text, undo } }: { toast: Toast }) {
  const dismiss = useCallback(() => set(toasts.filter((each) => each.id !== id)), [id]);
  useEffect(() => {
    // An error stays until it is dismissed.
    if (kind === "error") return;
    const timer = setTimeout(dismiss, undo ? UNDO_LIFE_MS : LIFE_MS);
    return () => clearTimeout(timer);
  }, [dismiss, kind, undo]);
  return (
    <div className={styles.toast} data-kind={kind}>
      <div className={styles.text}>{text}</div>
      {undo && (
        <Button
          small
          onClick={() => {
            undo();
            dismiss();
          }}
        >
          Undo
        </Button>
      )}
      <IconButton icon="close" label="Dismiss" small onClick={dismiss} />
    </div>
  );
}
