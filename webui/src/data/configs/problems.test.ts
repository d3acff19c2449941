import { describe, expect, it } from "vitest";

import { openDraft } from "./draft";
import { elsewhere, problemAt, problemsOf } from "./problems";

const draft = openDraft(`name: a
nmae: b
searcher:
  name: random
  metric: loss
hyperparameters:
  opt.lr: {type: int, minval: 3, maxval: 1}
labels:
  - x
  - 4
`);

describe("problemsOf", () => {
  it("splits a refusal into problems at their lines", () => {
    const found = problemsOf(
      'invalid experiment configuration: version 0 experiment config is invalid: config is invalid: <config>: additionalProperties "nmae" not allowed; did you mean "name"?\n' +
        "<config>.hyperparameters.opt.lr: minval must be less than maxval, but 3 is not less than 1\n" +
        "<config>.labels[1]: expected string, but got integer\n" +
        "<config>.searcher.max_trials: max_trials is a required property",
      draft,
    );
    expect(found.map(({ line, path }) => [line, path])).toEqual([
      [2, ["nmae"]],
      [3, ["searcher", "max_trials"]],
      [7, ["hyperparameters", "opt.lr"]],
      [10, ["labels", 1]],
    ]);
    expect(found[0]?.message).toBe('additionalProperties "nmae" not allowed; did you mean "name"?');
    expect(found[2]?.message).toBe("hyperparameters.opt.lr: minval must be less than maxval, but 3 is not less than 1");
  });

  it("knows the line of broken YAML", () => {
    expect(problemsOf("unable to convert yaml to json: line 4: expected ','", draft)).toEqual([
      { message: "expected ','", path: undefined, line: 4 },
    ]);
  });

  it("finds a field that a sentence names", () => {
    const [found] = problemsOf("invalid resource configuration: resources.slots_per_trial is 9, pool a has 4 slots", draft);
    expect(found?.path).toEqual(["resources", "slots_per_trial"]);
    expect(found?.message).toBe("resources.slots_per_trial is 9, pool a has 4 slots");
    expect(problemsOf("permission denied", draft)).toEqual([{ message: "permission denied", path: undefined, line: undefined }]);
  });
});

describe("the problems of a form", () => {
  const problems = problemsOf("<config>.searcher.max_trials: is missing\n<config>.name: is too long", draft);
  it("stand at their fields", () => {
    expect(problemAt(problems, ["searcher", "max_trials"])).toBe("is missing");
    expect(problemAt(problems, ["searcher"])).toBe("max_trials: is missing");
    expect(problemAt(problems, ["searcher", "max"])).toBeUndefined();
  });
  it("are listed where no field shows them", () => {
    expect(elsewhere(problems, [["name"]]).map(({ path }) => path)).toEqual([["searcher", "max_trials"]]);
  });
});
