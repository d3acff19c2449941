import { expect, test } from "vitest";

import { jumpsTo } from "./jumps";

const addresses = (text: string) => jumpsTo(text).map((each) => each.to);

test.each([
  ["trial 36", ["/trials/36/overview"]],
  ["Experiment 12", ["/experiments/12/overview"]],
  ["e 12", ["/experiments/12/overview"]],
  ["t #36", ["/trials/36/overview"]],
  ["logs 25", ["/experiments/25/logs", "/trials/25/logs"]],
  ["logs trial 25", ["/trials/25/logs"]],
  ["trial 25 logs", ["/trials/25/logs"]],
  ["story 7", ["/experiments/7/story", "/trials/7/story"]],
])("%s leads to its pages", (text, pages) => {
  expect(addresses(text)).toEqual(pages);
});

test.each(["", "12", "trial", "trial 1 2", "trial experiment 3", "logs story 3", "why 3", "digits 3", "trial 1234567890"])(
  "%s is no jump",
  (text) => {
    expect(addresses(text)).toEqual([]);
  },
);
