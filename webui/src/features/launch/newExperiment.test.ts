import { expect, it } from "vitest";

import type { PoolChoice } from "@/data/cluster/poolChoices";
import { openDraft } from "@/data/configs/draft";
import type { Upload } from "@/data/experiments/uploads";

import { blankStart, configsIn, missingProgram, needWords, placed } from "./newExperiment";

const PLACE = { workspace: "vision", project: "detector" };

function upload(path: string, text = ""): Upload {
  return { path, size: text.length, modified: 0, file: new Blob([text]) };
}

function pool(free: number): PoolChoice {
  return { name: "gpu", isDefaultCompute: true, isDefaultAux: true, total: 8, largest: 8, free };
}

it("a form without a template starts from one trial", () => {
  expect(openDraft(blankStart(PLACE, "")).value).toMatchObject({ ...PLACE, entrypoint: "python3 train.py", searcher: { name: "single" } });
  expect(openDraft(blankStart(PLACE, "base")).value).toEqual(PLACE);
  expect(blankStart(undefined, "base")).toBe("");
});

it("a configuration goes to the project of the page, if it names none", () => {
  expect(openDraft(placed("name: a\n", PLACE)).value).toEqual({ name: "a", ...PLACE });
  expect(placed("project: other\n", PLACE)).toBe("project: other\n");
  expect(placed("name: a\n", undefined)).toBe("name: a\n");
});

it("configurations among the files have a searcher or an entrypoint; those at the root come first", async () => {
  const files = [upload("conf/deep.yaml", "searcher: {}"), upload("a.yml", "entrypoint: x"), upload("data.yaml", "x: 1"), upload("b.yaml", "a: [")];
  expect((await configsIn(files)).map(({ path }) => path)).toEqual(["a.yml", "conf/deep.yaml"]);
});

it("a program that the entrypoint names must be among the files", () => {
  const files = [upload("train.py"), upload("lib/run.sh")];
  const missing = (entrypoint: unknown) => missingProgram(openDraft(JSON.stringify({ entrypoint })), files);
  expect(missing("python3 train.py --data x.csv")).toBeUndefined();
  expect(missing("python3 ./train.py")).toBeUndefined();
  expect(missing(["sh", "lib/run.sh"])).toBeUndefined();
  expect(missing("python3 trian.py")).toBe("trian.py");
  expect(missing("python3 -m determined.launch.torch_distributed lib/main.py")).toBe("lib/main.py");
  expect(missing("python3 /opt/train.py")).toBeUndefined();
  expect(missing("model_def:Trial")).toBeUndefined();
});

it("what it needs is said with what the pool has now", () => {
  const single = openDraft("resources: {slots_per_trial: 2}");
  expect(needWords(1, single, pool(5), 0)).toBe("1 trial of 2 slots. Pool gpu has 5 free slots, and no job waits there: it would start at once.");
  expect(needWords(1, single, pool(1), 0)).toMatch(/1 free slot, and no job waits there: it would wait for slots\.$/);
  expect(needWords(1, single, pool(5), 3)).toMatch(/5 free slots, and 3 jobs wait there\.$/);
  const search = openDraft("searcher: {max_concurrent_trials: 4}\nresources: {slots_per_trial: 2}");
  expect(needWords(16, search, undefined, 0)).toBe("16 trials of 2 slots, at most 8 slots at once.");
  expect(needWords(3, openDraft("searcher: {max_concurrent_trials: 0}"), undefined, 0)).toBe("3 trials of 1 slot, at most 3 slots at once.");
  expect(needWords(1, openDraft("resources: {slots_per_trial: 0}"), pool(5), 0)).toBe("1 trial of 0 slots.");
});
