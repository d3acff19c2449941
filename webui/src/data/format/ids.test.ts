import { expect, it } from "vitest";

import { idOf } from "./ids";

it("whole positive numbers are ids, other texts are none", () => {
  expect(["12", "1", "999999999"].map(idOf)).toEqual([12, 1, 999999999]);
  expect(["abc", "", "0", "-1", "1.5", "1e3", "12abc", " 1", "99999999999", undefined].map(idOf)).toEqual(Array(10).fill(undefined));
});
