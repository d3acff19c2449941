import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { useLocation, useNavigate, useParams } from "react-router";

import { ApiError } from "@/api/errors";
import { useBoard, type Board } from "@/data/boards/queries";
import { useTopic } from "@/data/live";
import { Button, IconButton } from "@/ui/button/Button";
import { Empty, Loading, NotFound, QueryView } from "@/ui/feedback/Feedback";
import { Page } from "@/ui/layout/Page";
import { Menu } from "@/ui/overlay/Menu";
import { Time } from "@/ui/text/Time";

import { BoardEditor } from "./BoardEditor";
import { BoardText } from "./BoardText";
import { scopeWord } from "./filter";
import { panelRunsKey } from "./panels/useRuns";
import { copyLink, useBoardMenu } from "./useBoardMenu";

/** `/boards/:id`: a board, and its editor. */
export default function BoardPage() {
  const { id: text } = useParams();
  const id = Number(text);
  const query = useBoard(id);
  const board = query.data;
  const wantsEdit = Boolean((useLocation().state as { edits?: boolean } | null)?.edits);
  const [edits, setEdits] = useState(wantsEdit);
  const shownId = useRef(id);
  // Another board in the same place begins with reading.
  if (shownId.current !== id) {
    shownId.current = id;
    if (edits !== wantsEdit) setEdits(wantsEdit);
  }
  useLiveRuns(board?.projectId);
  if (!Number.isInteger(id) || id <= 0)
    return (
      <Page name="Not found">
        <NotFound what="board" />
      </Page>
    );
  const isEditing = edits && Boolean(board?.canEdit);
  const isMissing = query.error instanceof ApiError && query.error.isNotFound;
  return (
    <Page
      key={id}
      name={isMissing ? "Not found" : (board?.name ?? `Board ${id}`)}
      crumbs={board ? crumbsOf(board) : [{ label: "Boards", to: "/boards" }]}
      badge={board && <Facts board={board} />}
      actions={board && !isEditing && <Acts board={board} onEdit={() => setEdits(true)} />}
      flush={isEditing}
    >
      <QueryView query={query} what="board" loading={<Loading what="the board" rows={8} />}>
        {(found) =>
          isEditing ? (
            <BoardEditor board={found} onClose={() => setEdits(false)} />
          ) : found.text.trim() ? (
            <BoardText text={found.text} projectId={found.projectId} />
          ) : (
            <Empty
              title="This board is empty"
              action={
                found.canEdit && (
                  <Button look="primary" icon="edit" onClick={() => setEdits(true)}>
                    Edit
                  </Button>
                )
              }
            >
              Its text is Markdown; panels in it show live data of trials.
            </Empty>
          )
        }
      </QueryView>
    </Page>
  );
}

function Acts({ board, onEdit }: { board: Board; onEdit(): void }) {
  const navigate = useNavigate();
  const leave = useCallback(() => void navigate("/boards"), [navigate]);
  const { menuOf, dialogs } = useBoardMenu({ onDeleted: leave });
  return (
    <>
      {board.canEdit && (
        <Button icon="edit" onClick={onEdit}>
          Edit
        </Button>
      )}
      <Button icon="link" onClick={() => void copyLink(board)}>
        Copy link
      </Button>
      <Menu trigger={<IconButton icon="more" label="More actions on the board" />} items={menuOf(board).slice(2)} />
      {dialogs}
    </>
  );
}

function Facts({ board }: { board: Board }) {
  return (
    <span className="hint">
      {scopeWord(board.scope)} · by {board.ownerName} · changed <Time at={board.updatedAt} />
    </span>
  );
}

function crumbsOf(board: Board) {
  return [
    { label: board.workspaceName, to: `/workspaces/${board.workspaceId}/projects` },
    { label: board.projectName, to: `/projects/${board.projectId}/boards` },
  ];
}

const PAUSE_MS = 2000;

/** Panels read again when runs of the project change, at most every two seconds. */
function useLiveRuns(projectId: number | undefined): void {
  const cache = useQueryClient();
  const due = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(
    () => () => {
      clearTimeout(due.current);
      due.current = undefined;
    },
    [projectId],
  );
  useTopic(
    projectId === undefined ? undefined : `project:${projectId}/runs`,
    useCallback(() => {
      due.current ??= setTimeout(() => {
        due.current = undefined;
        void cache.invalidateQueries({ queryKey: panelRunsKey });
      }, PAUSE_MS);
    }, [cache]),
  );
}

