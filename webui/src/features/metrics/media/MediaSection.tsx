/** Images, tables, histograms, audio and texts of a trial below its charts, at the steps of a slider. */
import { useState } from "react";

import { fileAt, itemsOf, stepsOf, useMedia, type MediaItem } from "@/data/experiments/media";
import type { Trial } from "@/data/experiments/queries";
import { formatNumber, plural } from "@/data/format/numbers";
import { Button } from "@/ui/button/Button";
import { Card, Cards } from "@/ui/layout/Card";

import { MediaValue } from "./MediaValue";

/** A trial can have thousands of names; so many are drawn at a time. */
const DRAWN = 24;
const FRAME = { padding: 10, border: "1px solid var(--line-1)" };

/** Nothing for a trial without media. */
export function MediaSection({ trial }: { trial: Trial }) {
  const query = useMedia(trial);
  if (query.data === undefined)
    return query.error ? <p className="hint">Images, tables and other media cannot be read: {messageOf(query.error)}</p> : null;
  const items = itemsOf(query.data.media);
  return items.length === 0 ? null : <Media trialId={trial.id ?? 0} items={items} isCut={query.data.isCut} />;
}

function Media({ trialId, items, isCut }: { trialId: number; items: MediaItem[]; isCut: boolean }) {
  const all = stepsOf(items);
  // Without a choice the latest steps are shown, also when newer ones come.
  const [chosen, setChosen] = useState<number>();
  const [drawn, setDrawn] = useState(DRAWN);
  const last = all.length - 1;
  const place = chosen === undefined ? last : Math.max(0, all.findLastIndex((each) => each <= chosen));
  const steps = all[place] ?? 0;
  const text = `${formatNumber(steps)} steps`;
  return (
    <Card title="Media">
      <div className="stack">
      {last > 0 && (
        <label className="row">
          <span className="number">After {text}</span>
          <input
            type="range"
            style={{ flex: "0 1 520px" }}
            aria-label="Steps"
            aria-valuetext={text}
            min={0}
            max={last}
            value={place}
            onChange={(event) => {
              const next = Number(event.target.value);
              setChosen(next === last ? undefined : all[next]);
            }}
          />
        </label>
      )}
      <Cards least={300}>
        {items.slice(0, drawn).map((item) => (
          <Item key={item.key} trialId={trialId} item={item} steps={steps} />
        ))}
      </Cards>
      {items.length > drawn && (
        <Button onClick={() => setDrawn(drawn + DRAWN)}>
          Show {Math.min(DRAWN, items.length - drawn)} more of {items.length}
        </Button>
      )}
      {isCut && <p className="hint">There are more files than the {plural(items.length, "name")} here has. They lie in the checkpoint storage.</p>}
      </div>
    </Card>
  );
}

function Item({ trialId, item, steps }: { trialId: number; item: MediaItem; steps: number }) {
  const file = fileAt(item, steps);
  return (
    <section className="stack" style={FRAME} aria-label={item.name}>
      <h3>{item.name}</h3>
      <div className="hint">
        {item.group} · {file ? `after ${formatNumber(file.steps)} steps` : "no value yet at these steps"}
      </div>
      {file && <MediaValue trialId={trialId} kind={item.kind} name={item.name} file={file} />}
    </section>
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
