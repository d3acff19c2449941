import { describe, expect, it, vi } from "vitest";

import { ApiError } from "@/api/errors";
import type { Board } from "@/data/boards/queries";

import { saveText, type Store } from "./save";

const old = new ApiError("PATCH", "/api/ui/v1/boards/4", 409, "has version 2");

/** A master that holds one board. */
function master(text: string, version: number) {
  const board = { id: 4, text, version } as Board;
  const store: Store = {
    read: vi.fn(() => Promise.resolve({ ...board })),
    change: vi.fn((_id: number, on: number, change) => {
      if (on !== board.version) return Promise.reject(old);
      Object.assign(board, change, { version: on + 1 });
      return Promise.resolve({ ...board });
    }),
  };
  return { store, board };
}

describe("saving a board", () => {
  const base = { id: 4, version: 1, text: "a\n\nb\n\nc" };

  it("stores the text with what its panels say", async () => {
    const { store, board } = master(base.text, 1);
    expect(await saveText({ base, text: "```panel number\n```" }, store)).toMatchObject({ kind: "saved" });
    expect(board).toMatchObject({ version: 2, panels: [{ kind: "number", of: "count" }] });
    expect(store.read).not.toHaveBeenCalled();
  });

  it("puts changes of other lines together", async () => {
    const { store, board } = master("a\n\nb\n\ntheirs", 3);
    expect(await saveText({ base, text: "mine\n\nb\n\nc" }, store)).toMatchObject({ kind: "merged" });
    expect(board.text).toBe("mine\n\nb\n\ntheirs");
  });

  it("is no merge when only the name has changed", async () => {
    const { store } = master(base.text, 2);
    expect(await saveText({ base, text: "mine" }, store)).toMatchObject({ kind: "saved" });
  });

  it("stores nothing where both changed the same line", async () => {
    const { store, board } = master("a\n\ntheirs\n\nc", 2);
    expect(await saveText({ base, text: "a\n\nmine\n\nc" }, store)).toMatchObject({ kind: "conflict", theirs: { version: 2 } });
    expect(board.text).toBe("a\n\ntheirs\n\nc");
  });

  it("passes other refusals on, and gives up on a board that always changes", async () => {
    const refused = new ApiError("PATCH", "", 403, "no");
    const change = vi.fn(() => Promise.reject(refused));
    await expect(saveText({ base, text: "x" }, { read: vi.fn(), change })).rejects.toBe(refused);
    expect(change).toHaveBeenCalledTimes(1);
    const busy: Store = { read: () => Promise.resolve({ ...base } as Board), change: vi.fn(() => Promise.reject(old)) };
    await expect(saveText({ base, text: "x" }, busy)).rejects.toBe(old);
    expect(busy.change).toHaveBeenCalledTimes(5);
  });
});
