import { useState } from "react";

import { Button } from "@/ui/button/Button";
import { toast } from "@/ui/feedback/toast";
import { TextArea } from "@/ui/field/Field";
import { Card } from "@/ui/layout/Card";
import { Markdown } from "@/ui/markdown/Markdown";
import { BothTexts, ConflictDialog } from "@/ui/overlay/ConflictDialog";
import { mayDiscard, useUnsaved } from "@/ui/overlay/unsaved";

/** Notes in Markdown, edited in place. Leaving the page, and a save by another person, ask first. */
export function NotesCard({
  notes,
  readNow,
  onSave,
}: {
  notes: string;
  /** The notes as the master has them now: somebody else may have changed them. */
  readNow(): Promise<string | undefined>;
  /** Resolves to false when the master refused them. */
  onSave?: ((notes: string) => Promise<unknown>) | undefined;
}) {
  const [draft, setDraft] = useState<{ base: string; text: string }>();
  const [theirs, setTheirs] = useState<string>();
  const isDirty = draft !== undefined && draft.text !== draft.base;
  useUnsaved(isDirty);
  const close = () => {
    setDraft(undefined);
    setTheirs(undefined);
  };
  const write = async (text: string) => {
    if ((await onSave?.(text)) !== false) close();
  };
  const save = async ({ base, text }: { base: string; text: string }) => {
    try {
      const now = (await readNow()) ?? "";
      if (now !== base && now !== text) setTheirs(now);
      else await write(text);
    } catch (error) {
      toast.failed("The notes are not saved", error);
    }
  };
  return (
    <Card
      title="Notes"
      actions={
        onSave &&
        draft === undefined && (
          <Button small icon="edit" onClick={() => setDraft({ base: notes, text: notes })}>
            Edit
          </Button>
        )
      }
    >
      {draft === undefined ? (
        notes ? (
          <Markdown text={notes} />
        ) : (
          <p className="hint">No notes.</p>
        )
      ) : (
        <div className="stack">
          <TextArea
            label="Notes (Markdown)"
            hideLabel
            rows={10}
            value={draft.text}
            onChange={(event) => setDraft({ ...draft, text: event.target.value })}
          />
          <div className="row">
            <Button look="primary" small onClick={() => void save(draft)}>
              Save
            </Button>
            <Button small onClick={() => void mayDiscard(isDirty).then((yes) => yes && close())}>
              Cancel
            </Button>
            {isDirty && <span className="hint">Not saved</span>}
          </div>
        </div>
      )}
      {draft !== undefined && theirs !== undefined && (
        <ConflictDialog
          title="Somebody else has changed the notes"
          description="Saving yours replaces theirs."
          onEdit={() => setTheirs(undefined)}
          onMine={() => void write(draft.text)}
          onTheirs={close}
        >
          <BothTexts mine={draft.text} theirs={theirs} />
        </ConflictDialog>
      )}
    </Card>
  );
}
