import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";

import { EMPTY_STATE } from "@/data/view/tableState";

import { ColumnPicker } from "./ColumnPicker";

afterEach(cleanup);

it("draws a part of 5,000 columns, says how many there are, and finds each of them", async () => {
  const columns = Array.from({ length: 5000 }, (_, at) => ({ id: `c${at}`, header: `column ${at}`, render: () => null }));
  render(<ColumnPicker columns={columns} state={{ ...EMPTY_STATE, columns: ["c0"] }} onState={() => undefined} />);
  fireEvent.click(screen.getByRole("button", { name: "Columns" }));
  expect(await screen.findByText(/^5,000 columns; the first 200 are listed/)).toBeTruthy();
  expect(screen.getAllByRole("checkbox")).toHaveLength(200);
  fireEvent.change(screen.getByLabelText("Find a column"), { target: { value: "column 4999" } });
  expect(screen.getByText("1 of 5,000 columns")).toBeTruthy();
  expect(screen.getByRole("checkbox", { name: "column 4999" })).toBeTruthy();
});
