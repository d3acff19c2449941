import { expect, it } from "vitest";

import { shellWord } from "./shell";

it("quotes what a shell would split or expand", () => {
  expect(shellWord("det-1.x")).toBe("det-1.x");
  expect(shellWord("two words")).toBe("'two words'");
  expect(shellWord("it's $HOME")).toBe("'it'\\''s $HOME'");
  expect(shellWord("")).toBe("''");
});
