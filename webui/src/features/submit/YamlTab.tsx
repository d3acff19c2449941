import { useMemo } from "react";

import type { Check } from "@/data/configs/checked";
import type { Draft } from "@/data/configs/draft";
import type { Problem } from "@/data/configs/problems";
import { Button } from "@/ui/button/Button";
import { CodeViewer, YamlEditor } from "@/ui/editor/Editor";
import { mayDiscard } from "@/ui/overlay/unsaved";

import type { OtherStart } from "./ConfigDialog";
import { Problems, Warnings } from "./Problems";
import styles from "./Submit.module.css";

/** The text itself, with the problems at their lines. */
export function YamlTab({
  draft,
  check,
  readOnly,
  start,
  others,
  onText,
}: {
  draft: Draft;
  check: Check;
  /** A text of the master, to read only. */
  readOnly?: string;
  start: string;
  others: OtherStart[];
  onText(text: string): void;
}) {
  const markers = useMemo(() => check.problems.flatMap(atLine), [check.problems]);
  const nowhere = check.problems.filter((each) => each.line === undefined);
  if (readOnly !== undefined)
    return (
      <div className={styles.editor}>
        <CodeViewer label="Complete configuration" height="fill" path="complete.yaml" value={readOnly} />
      </div>
    );
  const isUntouched = [start, ...others.map((each) => each.text)].includes(draft.text);
  const replace = async (text: string) => {
    if (await mayDiscard(!isUntouched)) onText(text);
  };
  return (
    <>
      <Problems problems={nowhere} />
      <Warnings check={check} />
      {others.length > 0 && (
        <div className="row">
          <span className="hint">Start from</span>
          {others.map((each) => (
            <Button key={each.label} small aria-pressed={draft.text === each.text} onClick={() => void replace(each.text)}>
              {each.label}
            </Button>
          ))}
        </div>
      )}
      <div className={styles.editor}>
        <YamlEditor label="Configuration (YAML)" height="fill" value={draft.text} onValue={onText} markers={markers} />
      </div>
    </>
  );
}

function atLine({ line, message }: Problem) {
  return line === undefined ? [] : [{ line, message }];
}
