/** Guards for text that is not saved: links, the back button, closing a dialog or the tab. */
import { useCallback, useEffect, useRef } from "react";
import { useBlocker } from "react-router";

import { hasUnsaved, holdUnsaved, losesText, type Reach } from "@/data/forms/unsaved";

import { confirm, type Question } from "./confirm";

const QUESTION: Question = {
  title: "Discard what you typed?",
  body: "It is not saved and would be lost.",
  action: "Discard",
  danger: true,
};

/**
 * While `isDirty`, leaving asks first. The returned function ends that at once: it is called before
 * the page itself moves on, after the text was saved.
 */
export function useUnsaved(isDirty: boolean, reach: Reach = "page"): () => void {
  const release = useRef<() => void>(undefined);
  useEffect(() => {
    if (!isDirty) return;
    const end = holdUnsaved(reach);
    release.current = end;
    return end;
  }, [isDirty, reach]);
  return useCallback(() => release.current?.(), []);
}

/** For the buttons of a form: true when nothing is typed, or when the person gives it up. */
export async function mayDiscard(isDirty: boolean): Promise<boolean> {
  return !isDirty || (await confirm(QUESTION));
}

/** A dialog with typed text: `close` asks first, `done` closes after the text was taken. */
export function useUnsavedDialog(isDirty: boolean, onClose: () => void): { close(): void; release(): void } {
  const release = useUnsaved(isDirty, "dialog");
  const asks = useRef(false);
  const close = () => {
    if (asks.current) return;
    asks.current = true;
    void mayDiscard(isDirty).then((yes) => {
      asks.current = false;
      if (!yes) return;
      release();
      onClose();
    });
  };
  return { close, release };
}

/** Mounted once, in the shell: a router has a single blocker. */
export function UnsavedHost() {
  const blocker = useBlocker(({ currentLocation, nextLocation }) => losesText(currentLocation, nextLocation));
  useEffect(() => {
    if (blocker.state !== "blocked") return;
    void confirm(QUESTION).then((yes) => (yes ? blocker.proceed() : blocker.reset()));
  }, [blocker]);
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      if (hasUnsaved()) event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, []);
  return null;
}
