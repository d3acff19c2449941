import type { ReactNode } from "react";

import { plural } from "@/data/format/numbers";

import { Button } from "../button/Button";
import styles from "./DataTable.module.css";
import { countOf, isSelected, NOTHING, selectAll } from "./selection";
import type { Key, Selection } from "./types";

/** How much is selected, how much of it is out of the list, and what can be done with it. */
export function SelectionBar({
  selection,
  onSelection,
  total,
  listed,
  word,
  words = `${word}s`,
  children,
}: {
  selection: Selection;
  onSelection(next: Selection): void;
  total: number | undefined;
  /** Keys that the list is known to hold; `undefined` while it is not all loaded. */
  listed?: Iterable<Key> | undefined;
  /** `run` */
  word: string;
  words?: string;
  children?: ReactNode;
}) {
  const count = countOf(selection, total);
  if (count === 0) return null;
  const hidden = selection.all || !listed ? 0 : count - countListed(selection, listed);
  return (
    <div className={styles.bar} role="region" aria-label="Selection">
      <span role="status">
        <strong>{selection.all ? `All ${plural(count, word, words)} selected` : `${plural(count, word, words)} selected`}</strong>
        {hidden > 0 && <span className="muted">, {hidden} not shown</span>}
      </span>
      {!selection.all && total !== undefined && total > count && (
        <Button small look="quiet" onClick={() => onSelection(selectAll())}>
          Select all {total.toLocaleString("en")} matching
        </Button>
      )}
      <Button small look="quiet" onClick={() => onSelection(NOTHING)}>
        Clear
      </Button>
      {children}
    </div>
  );
}

function countListed(selection: Selection, listed: Iterable<Key>): number {
  let count = 0;
  for (const key of listed) if (isSelected(selection, key)) count += 1;
  return count;
}
