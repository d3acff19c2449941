/** Questions before acts that cannot be undone: `await confirm({...})`. */
import { useCallback, useState, useSyncExternalStore, type ReactNode } from "react";

import { Button } from "../button/Button";
import { Dialog } from "./Dialog";

export interface Question {
  title: string;
  body?: ReactNode;
  /** The verb of the act: `Kill 3 runs`. */
  action: string;
  danger?: boolean;
}

let asked: { question: Question; answer(yes: boolean): void } | undefined;
const listeners = new Set<() => void>();

/** True when the person agreed. */
export function confirm(question: Question): Promise<boolean> {
  asked?.answer(false);
  return new Promise((resolve) => {
    asked = {
      question,
      answer(yes) {
        asked = undefined;
        listeners.forEach((each) => each());
        resolve(yes);
      },
    };
    listeners.forEach((each) => each());
  });
}

/** Mounted once, in the shell. */
export function ConfirmHost() {
  const current = useSyncExternalStore(
    useCallback((listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    }, []),
    () => asked,
  );
  const [last, setLast] = useState<Question>();
  if (current && current.question !== last) setLast(current.question);
  const question = current?.question ?? last;
  if (!question) return null;
  return (
    <Dialog
      open={Boolean(current)}
      onClose={() => current?.answer(false)}
      title={question.title}
      footer={
        <>
          <Button onClick={() => current?.answer(false)}>Cancel</Button>
          <Button look={question.danger ? "danger" : "primary"} onClick={() => current?.answer(true)}>
            {question.action}
          </Button>
        </>
      }
    >
      {question.body}
    </Dialog>
  );
}
