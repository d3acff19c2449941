import { expect, it } from "vitest";

import { csvOf } from "./csv";

it("CSV quotes what needs it, and lets no cell be a formula", () => {
  const text = csvOf(["a", "b"], [["x,y", 'say "hi"'], ["=1+1", -2], [null, "two\nlines"]]);
  expect(text).toBe('a,b\r\n"x,y","say ""hi"""\r\n\'=1+1,-2\r\n,"two\nlines"\r\n');
});
