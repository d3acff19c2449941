import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { useState } from "react";
import { afterEach, expect, it } from "vitest";

import { Dialog } from "./Dialog";

afterEach(cleanup);

function Opened({ from }: { from: "button" | "entry" }) {
  const [open, setOpen] = useState(false);
  const [menu, setMenu] = useState(false);
  const show = () => {
    setMenu(false);
    setOpen(true);
  };
  return (
    <>
      <button onClick={() => (from === "button" ? show() : setMenu(true))}>Acts</button>
      {menu && (
        <div role="menu">
          <button role="menuitem" onClick={show}>
            Edit
          </button>
        </div>
      )}
      {open && (
        <Dialog open onClose={() => setOpen(false)} title="Edit it">
          <input aria-label="Name" />
        </Dialog>
      )}
    </>
  );
}

it("gives the focus back to the button that opened it", async () => {
  render(<Opened from="button" />);
  const button = screen.getByText("Acts");
  button.focus();
  fireEvent.click(button);
  const dialog = await screen.findByRole("dialog");
  await waitFor(() => expect(dialog.contains(document.activeElement)).toBe(true));
  fireEvent.keyDown(document.activeElement as Element, { key: "Escape" });
  await waitFor(() => expect(document.activeElement).toBe(button));
});

it("gives the focus back to the button of the menu whose entry opened it", async () => {
  render(<Opened from="entry" />);
  const button = screen.getByText("Acts");
  button.focus();
  fireEvent.click(button);
  const entry = screen.getByText("Edit");
  entry.focus();
  fireEvent.click(entry);
  const dialog = await screen.findByRole("dialog");
  await waitFor(() => expect(dialog.contains(document.activeElement)).toBe(true));
  fireEvent.keyDown(document.activeElement as Element, { key: "Escape" });
  await waitFor(() => expect(document.activeElement).toBe(button));
});

it("leaves the focus where a person has put it since the dialog closed", async () => {
  render(
    <>
      <Opened from="button" />
      <button>Next</button>
    </>,
  );
  const [button, next] = [screen.getByText("Acts"), screen.getByText("Next")];
  button.focus();
  fireEvent.click(button);
  const dialog = await screen.findByRole("dialog");
  await waitFor(() => expect(dialog.contains(document.activeElement)).toBe(true));
  const focused: (EventTarget | null)[] = [];
  const note = ({ target }: FocusEvent) => void focused.push(target);
  fireEvent.keyDown(document.activeElement as Element, { key: "Escape" });
  expect(dialog.isConnected).toBe(false);
  next.focus();
  document.addEventListener("focusin", note);
  // Radix gives the focus back in a timer of its own, which was set before this one.
  await new Promise((done) => setTimeout(done));
  document.removeEventListener("focusin", note);
  expect(focused).toEqual([]);
  expect(document.activeElement).toBe(next);
});
