import { useState } from "react";
import { Link } from "react-router";

import { useStory, type StoryItem } from "@/data/experiments/story";
import { formatDuration, formatInstant } from "@/data/format/times";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Segments } from "@/ui/field/Field";
import { Card } from "@/ui/layout/Card";

import styles from "./StoryView.module.css";
import { sentence } from "./WhyView";

const LEVELS = [
  { value: "all", label: "Everything" },
  { value: "warning", label: "Warnings and errors" },
  { value: "error", label: "Errors" },
] as const;

export type Level = (typeof LEVELS)[number]["value"];

/** The journal as a time line: what happened, when, and because of what. */
export function StoryView({ of, id }: { of: "experiments" | "trials" | "tasks"; id: string }) {
  const query = useStory(of, id);
  const [level, setLevel] = useState<Level>("all");
  return (
    <QueryView query={query} what="the story">
      {({ items, reason }) => {
        const shown = items.filter((item) => passesLevel(item, level));
        return (
          <div className="stack" style={{ gap: 16 }}>
            {reason && (
              <Card>
                <strong>{sentence(reason)}</strong>
              </Card>
            )}
            <div>
              <Segments label="Level" value={level} options={LEVELS} onValue={setLevel} />
            </div>
            {shown.length === 0 ? (
              <Empty title="Nothing here">No event of this level is recorded.</Empty>
            ) : (
              <StoryList items={shown} />
            )}
          </div>
        );
      }}
    </QueryView>
  );
}

export function StoryList({ items }: { items: readonly StoryItem[] }) {
  return (
    <ol className={styles.list}>
      {items.map((item, index) => (
        <Item key={item.cursor} item={item} before={items[index - 1]} />
      ))}
    </ol>
  );
}

function Item({ item, before }: { item: StoryItem; before: StoryItem | undefined }) {
  const text = splitAtTrial(sentence(item.text), item.trialId);
  const gap = before ? (Date.parse(item.at) - Date.parse(before.at)) / 1000 : 0;
  return (
    <li className={styles.item} data-level={item.level}>
      <div className={styles.time}>
        <time dateTime={item.at}>{formatInstant(item.at)}</time>
        {gap >= 1 && <div className={styles.gap}>+{formatDuration(gap)}</div>}
      </div>
      <div className={styles.mark} aria-hidden="true">
        <span className={styles.dot} />
      </div>
      <div>
        {item.level !== "info" && <span className="visually-hidden">{item.level}: </span>}
        <span style={{ overflowWrap: "anywhere" }}>
          {text.before}
          {text.trial && <Link className={styles.trial} to={`/trials/${item.trialId}`}>{text.trial}</Link>}
          {text.after}
        </span>
        {(item.cause || (item.trialId > 0 && !text.trial)) && (
          <div className="hint row" style={{ gap: 10 }}>
            {item.cause && <span>because of {item.cause}</span>}
            {item.trialId > 0 && !text.trial && <Link to={`/trials/${item.trialId}`}>trial {item.trialId}</Link>}
          </div>
        )}
      </div>
    </li>
  );
}

/** The text around the words that name its trial; all of it is `before` where it names none. */
export function splitAtTrial(text: string, trialId: number): { before: string; trial: string; after: string } {
  const found = trialId > 0 ? new RegExp(`\\btrial ${trialId}\\b`, "i").exec(text) : null;
  if (!found) return { before: text, trial: "", after: "" };
  return { before: text.slice(0, found.index), trial: found[0], after: text.slice(found.index + found[0].length) };
}

export function passesLevel(item: StoryItem, level: Level): boolean {
  if (level === "all") return true;
  return item.level === "error" || (level === "warning" && item.level === "warning");
}
