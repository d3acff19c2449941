import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Schemas } from "@/api/client";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { Button, IconButton } from "@/ui/button/Button";
import { Empty } from "@/ui/feedback/Feedback";
import { toast } from "@/ui/feedback/toast";
import { TextArea, TextField } from "@/ui/field/Field";
import { Markdown } from "@/ui/markdown/Markdown";
import { confirm } from "@/ui/overlay/confirm";
import { BothTexts, ConflictDialog } from "@/ui/overlay/ConflictDialog";
import { useUnsaved } from "@/ui/overlay/unsaved";

import { freeName, mergePages, pagesOf, samePages, type NotePage } from "./notes";
import styles from "./Notes.module.css";

/** The notes of a project: pages of Markdown. Leaving, and a save by another person, ask first. */
export function Notes({ project }: { project: Schemas["Project"] }) {
  const id = project.id ?? 0;
  const cache = useQueryClient();
  const { may } = useRights();
  const stored = pagesOf(project.notes);
  const [draft, setDraft] = useState<{ base: NotePage[]; pages: NotePage[] }>();
  const [at, setAt] = useState(0);
  const [clash, setClash] = useState<{ theirs: NotePage[]; names: string[] }>();
  const pages = draft?.pages ?? stored;
  const page = pages[Math.min(at, pages.length - 1)];
  const isDirty = draft !== undefined && !samePages(draft.base, draft.pages);
  useUnsaved(isDirty);
  const reason = project.archived
    ? "The project is archived."
    : may("PERMISSION_TYPE_UPDATE_PROJECT", project.workspaceId)
      ? undefined
      : "You may not edit this project.";

  const edit = (next: NotePage[]) => setDraft({ base: draft?.base ?? stored, pages: next });
  const write = async (next: NotePage[]) => {
    await answer(
      api.PUT("/api/v1/projects/{project_id}/notes", {
        params: { path: { project_id: id } },
        body: { notes: next, projectId: id },
      }),
    );
    setDraft(undefined);
    setClash(undefined);
    await cache.invalidateQueries({ queryKey: keys.project(id) });
    toast.done("The notes are saved.");
  };
  const save = async () => {
    if (!draft) return;
    try {
      const { project: now } = await answer(api.GET("/api/v1/projects/{id}", { params: { path: { id } } }));
      const theirs = pagesOf(now?.notes);
      const { merged, conflicts } = mergePages(draft.base, draft.pages, theirs);
      if (conflicts.length > 0) setClash({ theirs, names: conflicts });
      else await write(merged);
    } catch (error) {
      toast.failed("Save the notes", error);
    }
  };
  const keepMine = () => {
    if (!clash || !draft) return;
    const { merged } = mergePages(draft.base, draft.pages, clash.theirs);
    void write(merged).catch((error: unknown) => toast.failed("Save the notes", error));
  };
  const takeTheirs = () => {
    setDraft(undefined);
    setClash(undefined);
    void cache.invalidateQueries({ queryKey: keys.project(id) });
  };
  const add = () => {
    edit([...pages, { name: freeName(pages), contents: "" }]);
    setAt(pages.length);
  };
  const discard = async () => {
    if (!isDirty || (await confirm({ title: "Discard what you typed?", action: "Discard", danger: true }))) setDraft(undefined);
  };
  const remove = async (place: number) => {
    const name = pages[place]?.name;
    if (!(await confirm({ title: `Remove the page “${name}”?`, body: "Saving makes it final.", action: "Remove", danger: true }))) return;
    edit(pages.filter((_, each) => each !== place));
    setAt(0);
  };

  if (pages.length === 0)
    return (
      <Empty title="No notes yet" action={<Button look="primary" icon="plus" disabledReason={reason} onClick={add}>New page</Button>}>
        Notes are pages of Markdown that everybody who sees the project reads.
      </Empty>
    );
  return (
    <div className={styles.notes}>
      <nav aria-label="Pages of notes" className={styles.pages}>
        {pages.map((each, place) => (
          <button key={place} type="button" aria-current={each === page ? "page" : undefined} onClick={() => setAt(place)}>
            {each.name || "(no name)"}
          </button>
        ))}
        <Button small look="quiet" icon="plus" disabledReason={reason} onClick={add}>
          New page
        </Button>
      </nav>
      <div className="stack grow">
        <div className="row">
          {draft ? (
            <>
              <Button look="primary" disabledReason={isDirty ? undefined : "Nothing has changed."} onClick={() => void save()}>
                Save
              </Button>
              <Button onClick={() => void discard()}>Discard</Button>
              <IconButton icon="trash" label="Remove the page" onClick={() => void remove(pages.indexOf(page as NotePage))} />
              {isDirty && <span className="hint">Not saved</span>}
            </>
          ) : (
            <Button icon="edit" disabledReason={reason} onClick={() => setDraft({ base: stored, pages: stored })}>
              Edit
            </Button>
          )}
        </div>
        {page && draft && (
          <Editor page={page} onPage={(next) => edit(pages.map((each) => (each === page ? next : each)))} />
        )}
        {page && !draft && (
          <>
            <h2>{page.name}</h2>
            {page.contents ? <Markdown text={page.contents} /> : <p className="hint">This page is empty.</p>}
          </>
        )}
      </div>
      {clash && (
        <ConflictDialog
          title="Somebody else has changed the same page"
          description={`Changed by both: ${clash.names.join(", ")}.`}
          onEdit={() => setClash(undefined)}
          onTheirs={takeTheirs}
          onMine={keepMine}
        >
          {clash.names.map((name) => (
            <BothTexts
              key={name}
              name={name}
              mine={draft?.pages.find((each) => each.name === name)?.contents}
              theirs={clash.theirs.find((each) => each.name === name)?.contents}
            />
          ))}
        </ConflictDialog>
      )}
    </div>
  );
}

function Editor({ page, onPage }: { page: NotePage; onPage(page: NotePage): void }) {
  return (
    <>
      <TextField label="Name of the page" maxLength={200} value={page.name} onChange={(event) => onPage({ ...page, name: event.target.value })} />
      <div className={styles.sides}>
        <TextArea label="Markdown" rows={22} value={page.contents} onChange={(event) => onPage({ ...page, contents: event.target.value })} />
        <Markdown text={page.contents} label="Preview" />
      </div>
    </>
  );
}
