/** Saving a text that somebody else may have changed meanwhile. */
import { ApiError } from "@/api/errors";
import type { Board, BoardChange } from "@/data/boards/queries";
import { mergeTexts } from "@/data/boards/merge";

import { panelsOf, splitBoard } from "./panels/split";

export interface Draft {
  /** The board as it was when the editing began. */
  base: Pick<Board, "id" | "version" | "text">;
  text: string;
}

export type Saved =
  | { kind: "saved"; board: Board }
  /** Others had changed other lines: both changes are in it. */
  | { kind: "merged"; board: Board }
  /** Both changed the same lines; nothing is saved. */
  | { kind: "conflict"; theirs: Board };

export interface Store {
  read(id: number): Promise<Board>;
  change(id: number, version: number, change: BoardChange): Promise<Board>;
}

const MAX_ATTEMPTS = 5;

/** @throws ApiError what the master refuses for other reasons than an old version. */
export async function saveText({ base, text }: Draft, { read, change }: Store): Promise<Saved> {
  let version = base.version;
  let wanted = text;
  let isMerged = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const board = await change(base.id, version, { text: wanted, panels: panelsOf(splitBoard(wanted)) });
      return { kind: isMerged ? "merged" : "saved", board };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409 || attempt >= MAX_ATTEMPTS) throw error;
    }
    const theirs = await read(base.id);
    const merge = mergeTexts(base.text, text, theirs.text);
    if (merge === "conflict") return { kind: "conflict", theirs };
    isMerged = theirs.text !== base.text;
    wanted = merge.text;
    version = theirs.version;
  }
}
