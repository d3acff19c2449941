import { useMemo } from "react";

import { changesOf } from "@/data/configs/changes";
import { openDraft, type Draft } from "@/data/configs/draft";
import { plural } from "@/data/format/numbers";
import { DiffView } from "@/ui/editor/Editor";

import type { Source } from "./ConfigDialog";
import styles from "./Submit.module.css";

/** The values that differ from the source, then both texts side by side. */
export function ChangesTab({ draft, source }: { draft: Draft; source: Source }) {
  const changes = useMemo(
    () => (draft.error ? [] : changesOf(openDraft(source.text).value, draft.value)),
    [draft, source.text],
  );
  return (
    <>
      <section className="stack" style={{ gap: 6 }}>
        <h3>
          {draft.error ? "The text is not valid YAML" : `${plural(changes.length, "value differs", "values differ")} from ${source.label}`}
        </h3>
        {changes.length > 0 && (
          <ul className={styles.changes} tabIndex={0} aria-label="Changed values">
            {changes.map(({ name, before, after }) => (
              <li key={name} className="mono">
                {name}: {before !== undefined && <del>{before}</del>} {after !== undefined && <ins>{after}</ins>}
              </li>
            ))}
          </ul>
        )}
      </section>
      <DiffView
        label={`Changes from ${source.label}`}
        height={420}
        before={source.text}
        after={draft.text}
        beforeLabel={source.label}
        afterLabel="This configuration"
      />
    </>
  );
}
