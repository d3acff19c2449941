import { useCallback, useState } from "react";
import { useNavigate } from "react-router";

import { BASE_PATH } from "@/api/client";
import { boardsKey, createBoard, deleteBoard, readBoard, type Board } from "@/data/boards/queries";
import { toast } from "@/ui/feedback/toast";
import { useAct } from "@/ui/feedback/useAct";
import { confirm } from "@/ui/overlay/confirm";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { copyText } from "@/ui/text/Copy";

import { BoardForm } from "./BoardForm";
import { panelsOf, splitBoard } from "./panels/split";

/** The address of a board for others. */
export function linkTo(board: Pick<Board, "id">): string {
  return `${location.origin}${BASE_PATH}/det/boards/${board.id}`;
}

export async function copyLink(board: Board): Promise<void> {
  await copyText(linkTo(board));
  toast.info(
    board.scope === "private"
      ? "Copied the link. The board is private: share it, and who sees the project can open the link."
      : "Copied the link. Who sees the project can open it.",
  );
}

/** The acts of a board, and the dialogs that they open. */
export function useBoardMenu({ onDeleted }: { onDeleted?: () => void } = {}) {
  const act = useAct();
  const navigate = useNavigate();
  const [edited, setEdited] = useState<Board>();
  const menuOf = useCallback(
    (board: Board): MenuEntry[] => {
      const duplicate = async () => {
        try {
          const { text } = await readBoard(board.id);
          const name = `Copy of ${board.name}`.slice(0, 200);
          const panels = panelsOf(splitBoard(text));
          const made = await createBoard(board.projectId, { name, scope: "private", text, panels });
          toast.done(`Made ${name}, which is private`);
          void navigate(`/boards/${made.id}`);
        } catch (error) {
          toast.failed(`Copy ${board.name}`, error);
        }
      };
      const remove = async () => {
        const yes = await confirm({
          title: `Delete board ${board.name}?`,
          body: "Its text is lost, and links to it end. The trials that it shows stay.",
          action: "Delete",
          danger: true,
        });
        if (!yes) return;
        // The page of the board is left first: it would ask for what is gone.
        const done = await act(() => deleteBoard(board.id), {
          done: `Deleted board ${board.name}`,
          failed: `Delete ${board.name}`,
          keys: [[...boardsKey, "of"]],
        });
        if (done) onDeleted?.();
      };
      return [
        { label: "Open", icon: "external", to: `/boards/${board.id}` },
        { label: "Copy the link", icon: "link", onSelect: () => void copyLink(board) },
        { label: "Duplicate", icon: "copy", onSelect: () => void duplicate() },
        board.canEdit && { label: "Name and sharing …", icon: "edit", onSelect: () => setEdited(board) },
        board.canEdit && "separator",
        board.canEdit && { label: "Delete …", icon: "trash", danger: true, onSelect: () => void remove() },
      ];
    },
    [act, navigate, onDeleted],
  );
  return { menuOf, dialogs: edited && <BoardForm board={edited} onClose={() => setEdited(undefined)} /> };
}
