import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";

import { DataTable } from "./DataTable";
import { NOTHING } from "./selection";
import type { Column, Selection } from "./types";

interface Row {
  id: number;
  name: string;
}
const columns: Column<Row>[] = [
  { id: "id", header: "ID", sortable: true, render: (row) => row.id, value: (row) => row.id },
  { id: "name", header: "Name", sortable: true, render: (row) => row.name, value: (row) => row.name },
];
const rows: Row[] = [3, 1, 2].map((id) => ({ id, name: `row ${id}` }));
const keyOf = (row: Row) => row.id;

beforeAll(() => {
  // jsdom has no layout: the window of the table is 600 px high.
  for (const [name, size] of [["offsetHeight", 600], ["offsetWidth", 1024], ["clientHeight", 600], ["clientWidth", 1024]] as const)
    Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get: () => size });
  Element.prototype.scrollTo = () => undefined;
});
afterEach(cleanup);

function Selecting({ onOpen, onPeek }: { onOpen(row: Row): void; onPeek(row: Row): void }) {
  const [selection, setSelection] = useState<Selection>(NOTHING);
  return (
    <>
      <output>{[...selection.keys].join()}</output>
      <DataTable label="Things" columns={columns} rows={rows} rowKey={keyOf} {...{ selection, onOpen, onPeek }} onSelection={setSelection} />
    </>
  );
}

const names = () => screen.getAllByRole("row").slice(1).map((row) => within(row).getAllByRole("gridcell").at(-1)?.textContent);

describe("the table", () => {
  it("is a grid that says how large it is", () => {
    render(<DataTable label="Things" columns={columns} rows={rows} rowKey={keyOf} />);
    const grid = screen.getByRole("grid", { name: "Things" });
    expect(grid.getAttribute("aria-rowcount")).toBe("4");
    expect(grid.getAttribute("aria-colcount")).toBe("2");
    expect(screen.getAllByRole("row").map((row) => row.getAttribute("aria-rowindex"))).toEqual(["1", "2", "3", "4"]);
  });

  it("sorts by a click on the header, and says so", () => {
    render(<DataTable label="Things" columns={columns} rows={rows} rowKey={keyOf} />);
    expect(names()).toEqual(["row 3", "row 1", "row 2"]);
    fireEvent.click(screen.getByRole("button", { name: "Name" }));
    expect(names()).toEqual(["row 1", "row 2", "row 3"]);
    expect(screen.getByRole("columnheader", { name: /Name/ }).getAttribute("aria-sort")).toBe("ascending");
  });

  it("is used by keyboard", async () => {
    const [onOpen, onPeek] = [vi.fn(), vi.fn()];
    render(<Selecting onOpen={onOpen} onPeek={onPeek} />);
    const grid = screen.getByRole("grid");
    const press = (key: string, shiftKey = false) => fireEvent.keyDown(grid, { key, shiftKey });
    press("j");
    press("x");
    expect(screen.getByRole("status").textContent).toBe("3");
    press("j");
    press("j");
    press("X", true);
    expect(await screen.findByText("3,1,2")).toBeDefined();
    press("k");
    press("Enter");
    press(" ");
    expect(onOpen).toHaveBeenCalledWith(rows[1]);
    expect(onPeek).toHaveBeenCalledWith(rows[1], 1);
    press("Escape");
    expect(screen.getByRole("status").textContent).toBe("");
  });

  it("takes the keys of its page while nothing has the focus", () => {
    const onPeek = vi.fn();
    render(
      <>
        <h1 tabIndex={-1}>Things</h1>
        <input aria-label="Name" />
        <DataTable label="Things" fill columns={columns} rows={rows} rowKey={keyOf} onPeek={onPeek} />
      </>,
    );
    fireEvent.keyDown(screen.getByRole("textbox"), { key: " " });
    expect(onPeek).not.toHaveBeenCalled();
    fireEvent.keyDown(screen.getByRole("heading"), { key: " " });
    expect(onPeek).toHaveBeenLastCalledWith(rows[0], 0);
    expect(document.activeElement).toBe(screen.getByRole("grid"));
    (document.activeElement as HTMLElement).blur();
    fireEvent.keyDown(document.body, { key: "j" });
    fireEvent.keyDown(screen.getByRole("grid"), { key: " " });
    expect(onPeek).toHaveBeenLastCalledWith(rows[1], 1);
  });

  it("keeps the active row when the rows before it go away", () => {
    const { rerender } = render(<DataTable label="Things" columns={columns} rows={rows} rowKey={keyOf} />);
    const grid = screen.getByRole("grid");
    fireEvent.keyDown(grid, { key: "End" });
    const activeRow = () => document.getElementById(grid.getAttribute("aria-activedescendant") ?? "")?.textContent;
    expect(activeRow()).toBe("2row 2");
    rerender(<DataTable label="Things" columns={columns} rows={rows.slice(1)} rowKey={keyOf} />);
    expect(activeRow()).toBe("2row 2");
  });

  it("tints a cell whose value has changed, and no other", () => {
    const { rerender, container } = render(<DataTable label="Things" columns={columns} rows={rows} rowKey={keyOf} />);
    const tinted = () => [...container.querySelectorAll("[class*=changed]")].map((cell) => cell.textContent);
    expect(tinted()).toEqual([]);
    rerender(<DataTable label="Things" columns={columns} rows={[{ id: 3, name: "new" }, ...rows.slice(1)]} rowKey={keyOf} />);
    expect(tinted()).toEqual(["new"]);
  });

  it("says why it is empty, outside of the grid", () => {
    render(<DataTable label="Things" columns={columns} rows={[]} rowKey={keyOf} empty={<p>None yet</p>} />);
    expect(screen.getByRole("grid").contains(screen.getByText("None yet"))).toBe(false);
  });
});
