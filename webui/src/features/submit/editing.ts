/** What the fields of a form need of the text that they write into. */
import { useMemo, useState } from "react";

import { openDraft, setAll, setAt, typeAt, type Draft, type Path } from "@/data/configs/draft";
import type { Problem } from "@/data/configs/problems";

export interface Editing {
  draft: Draft;
  problems: readonly Problem[];
  /** A value as it is; `undefined` removes it. */
  set(path: Path, value: unknown): void;
  /** What a person typed: a number, a word, a list; nothing removes it. */
  type(path: Path, entry: string): void;
  setAll(changes: readonly (readonly [Path, unknown])[]): void;
  /** Another text in place of the whole one. */
  replace(text: string): void;
}

/** The text of a configuration and the ways to write into it. */
export function useDraft(start: string) {
  const [text, setText] = useState(start);
  const draft = useMemo(() => openDraft(text), [text]);
  const edit = useMemo(
    () => ({
      set: (path: Path, value: unknown) => setText((now) => setAt(now, path, value)),
      type: (path: Path, entry: string) => setText((now) => typeAt(now, path, entry)),
      setAll: (changes: readonly (readonly [Path, unknown])[]) => setText((now) => setAll(now, changes)),
      replace: (next: string) => setText(next),
    }),
    [],
  );
  return { draft, setText, edit };
}
