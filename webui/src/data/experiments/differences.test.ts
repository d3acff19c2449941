import { describe, expect, it } from "vitest";

import { sideBySide } from "./differences";

describe("runs side by side", () => {
  it("have a row for every name of any run", () => {
    expect(sideBySide([[["lr", "0.1"]], [["lr", "0.1"], ["width", "8"]]])).toEqual([
      { name: "lr", values: ["0.1", "0.1"], differs: false },
      { name: "width", values: [undefined, "8"], differs: true },
    ]);
  });
});
