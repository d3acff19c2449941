import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router";
import { afterEach, describe, expect, it, vi } from "vitest";

import { NotesCard } from "./NotesCard";

afterEach(cleanup);

function edit(now: string) {
  const onSave = vi.fn(() => Promise.resolve(true));
  const element = <NotesCard notes="as read" readNow={() => Promise.resolve(now)} onSave={onSave} />;
  render(<RouterProvider router={createMemoryRouter([{ path: "/", element }])} />);
  fireEvent.click(screen.getByRole("button", { name: "Edit" }));
  fireEvent.change(screen.getByLabelText("Notes (Markdown)"), { target: { value: "mine" } });
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
  return onSave;
}

describe("notes", () => {
  it("are saved when nobody else has changed them", async () => {
    const onSave = edit("as read");
    await waitFor(() => expect(onSave).toHaveBeenCalledWith("mine"));
    await waitFor(() => expect(screen.queryByLabelText("Notes (Markdown)")).toBeNull());
  });

  it("are not written over those of somebody else without a question", async () => {
    const onSave = edit("theirs");
    await screen.findByRole("dialog", { name: "Somebody else has changed the notes" });
    expect(onSave).not.toHaveBeenCalled();
    fireEvent.click(screen.getByRole("button", { name: "Save mine" }));
    await waitFor(() => expect(onSave).toHaveBeenCalledWith("mine"));
  });

  it("keep what was typed when the person edits on", async () => {
    edit("theirs");
    fireEvent.click(await screen.findByRole("button", { name: "Edit on" }));
    expect(screen.getByLabelText<HTMLTextAreaElement>("Notes (Markdown)").value).toBe("mine");
  });
});
