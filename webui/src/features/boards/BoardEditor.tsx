import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState, type KeyboardEvent } from "react";

import { boardsKey, changeBoard, readBoard, type Board } from "@/data/boards/queries";
import { plural } from "@/data/format/numbers";
import { Button } from "@/ui/button/Button";
import { DiffView, MarkdownEditor } from "@/ui/editor/Editor";
import { toast } from "@/ui/feedback/toast";
import { Segments } from "@/ui/field/Field";
import { Notice } from "@/ui/layout/Notice";
import { ConflictDialog } from "@/ui/overlay/ConflictDialog";
import { Menu } from "@/ui/overlay/Menu";
import { mayDiscard, useUnsaved } from "@/ui/overlay/unsaved";

import { BoardText } from "./BoardText";
import styles from "./Boards.module.css";
import { PanelHelp } from "./PanelHelp";
import { splitBoard } from "./panels/split";
import { useTemplates } from "./panels/useTemplates";
import { saveText, type Draft } from "./save";

const PREVIEW_PAUSE_MS = 400;
const SHOWN = [
  { value: "write", label: "Write" },
  { value: "preview", label: "Preview" },
] as const;

/** The text at the left, what it shows at the right; one of them in a narrow window. */
export function BoardEditor({ board, onClose }: { board: Board; onClose(): void }) {
  const cache = useQueryClient();
  const [draft, setDraft] = useState<Draft>({ base: board, text: board.text });
  const [shown, setShown] = useState<"write" | "preview">("write");
  const [insert, setInsert] = useState<{ text: string }>();
  const [theirs, setTheirs] = useState<Board>();
  const [isBusy, setBusy] = useState(false);
  const templates = useTemplates(board.projectId);
  const preview = useLater(draft.text, PREVIEW_PAUSE_MS);
  const broken = useMemo(() => splitBoard(preview).filter((each) => each.kind === "broken").length, [preview]);
  const isDirty = draft.text !== draft.base.text;
  useUnsaved(isDirty);

  const write = async (wanted: Draft) => {
    setBusy(true);
    try {
      const saved = await saveText(wanted, { read: readBoard, change: changeBoard });
      if (saved.kind === "conflict") {
        setTheirs(saved.theirs);
        return;
      }
      cache.setQueryData([...boardsKey, "one", board.id], saved.board);
      void cache.invalidateQueries({ queryKey: [...boardsKey, "of"] });
      toast.done(saved.kind === "merged" ? "The board is saved, with what others changed meanwhile." : "The board is saved.");
      onClose();
    } catch (error) {
      toast.failed("Save the board", error);
    } finally {
      setBusy(false);
    }
  };
  const save = () => void write(draft);
  const discard = async () => {
    if (await mayDiscard(isDirty)) onClose();
  };
  const onKey = (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
    event.preventDefault();
    if (isDirty && !isBusy) save();
  };
  const setText = (text: string) => setDraft((old) => ({ ...old, text }));
  const isOld = board.version > draft.base.version && board.text !== draft.base.text;
  return (
    <div style={{ display: "contents" }} onKeyDown={onKey}>
      <div className={styles.tools}>
        <Button look="primary" disabledReason={isBusy ? "The master is asked." : isDirty ? undefined : "Nothing has changed."} onClick={save}>
          Save
        </Button>
        <Button onClick={() => void discard()}>{isDirty ? "Discard" : "Close"}</Button>
        <Menu
          align="start"
          trigger={<Button icon="plus">Insert a panel</Button>}
          items={templates.map(({ label, icon, text }) => ({
            label,
            icon,
            onSelect: () => {
              setShown("write");
              // After the menu has given the focus back to its button.
              setTimeout(() => setInsert({ text }));
            },
          }))}
        />
        <PanelHelp />
        <div className={styles.only}>
          <Segments label="Part of the editor" value={shown} options={SHOWN} onValue={setShown} />
        </div>
        <span className="hint" role="status">
          {isDirty && "Not saved"}
          {isDirty && broken > 0 && " · "}
          {broken > 0 && `${plural(broken, "panel")} cannot be read`}
        </span>
      </div>
      {isOld && (
        <div className={styles.notice}>
          <Notice>
            Somebody else has changed this board. Saving puts both changes together where they touch different lines, and asks where
            they do not.
          </Notice>
        </div>
      )}
      <div className={styles.editor} data-shown={shown}>
        <div className={styles.source}>
          <MarkdownEditor label="Text of the board" height="fill" value={draft.text} onValue={setText} insert={insert} />
        </div>
        <section className={styles.preview} aria-label="Preview" tabIndex={0}>
          <BoardText text={preview} projectId={board.projectId} />
        </section>
      </div>
      {theirs && (
        <ConflictDialog
          title="Somebody else has changed the same lines"
          description="Compare both, then edit on, take theirs, or save yours in place of theirs."
          onEdit={() => setTheirs(undefined)}
          onTheirs={() => {
            setDraft({ base: theirs, text: theirs.text });
            setTheirs(undefined);
          }}
          onMine={() => {
            const next = { base: theirs, text: draft.text };
            setDraft(next);
            setTheirs(undefined);
            void write(next);
          }}
        >
          <DiffView
            label="Theirs and mine"
            before={theirs.text}
            after={draft.text}
            beforeLabel={`Theirs, version ${theirs.version}`}
            afterLabel="Mine"
            path="board.md"
            height={360}
          />
        </ConflictDialog>
      )}
    </div>
  );
}

/** The value as it was when it last rested for a while. */
function useLater<T>(value: T, ms: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return later;
}
