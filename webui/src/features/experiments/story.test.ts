import { describe, expect, it } from "vitest";

import { splitAtTrial } from "./StoryView";

describe("a line of a story", () => {
  it("links the trial that it names", () => {
    expect(splitAtTrial("Trial 12 failed.", 12)).toEqual({ before: "", trial: "Trial 12", after: " failed." });
    expect(splitAtTrial("The search stops trial 12: it is worse.", 12)).toEqual({
      before: "The search stops ",
      trial: "trial 12",
      after: ": it is worse.",
    });
  });

  it("names no other trial", () => {
    for (const [text, id] of [["Trial 120 failed.", 12], ["The search ended.", 12], ["Trial 0 failed.", 0]] as const)
      expect(splitAtTrial(text, id)).toEqual({ before: text, trial: "", after: "" });
  });
});
