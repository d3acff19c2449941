import { expect, it } from "vitest";

import type { Experiment, Trial } from "@/data/experiments/queries";
import type { MenuItem } from "@/ui/overlay/Menu";

import { startButtons, startMenu } from "./startMenu";

const EXPERIMENT: Experiment = { id: 1, workspaceId: 3, state: "STATE_ERROR", searcherType: "single" };
const TRIAL: Trial = { id: 2, checkpointCount: 0, state: "STATE_ERROR" };

function items(permissions: string[], change: object = {}): MenuItem[] {
  const may = (name: string) => permissions.some((each) => name.endsWith(each));
  const rights = { may, mayAnywhere: may };
  const made = startMenu({ experiment: EXPERIMENT, trials: [TRIAL], trial: TRIAL, rights, open: () => undefined, ...change });
  return made.filter((each): each is MenuItem => Boolean(each) && typeof each === "object" && "label" in each);
}

it("acts that the user may not do are absent", () => {
  expect(items([])).toEqual([]);
  expect(items(["UPDATE_EXPERIMENT"]).map(({ label }) => label)).toEqual(["Retry …"]);
  expect(items(["CREATE_EXPERIMENT"])).toEqual([]);
});

it("acts that are not possible have a reason", () => {
  const all = items(["UPDATE_EXPERIMENT", "CREATE_EXPERIMENT", "VIEW_EXPERIMENT_ARTIFACTS"]);
  expect(all.map(({ label, disabledReason }) => [label, Boolean(disabledReason)])).toEqual([
    ["Retry …", false],
    ["Fork …", false],
    ["Continue in a new experiment …", true],
    ["Search hyperparameters …", false],
  ]);
});

it("a run of a search leaves the search alone", () => {
  const all = items(["UPDATE_EXPERIMENT", "CREATE_EXPERIMENT", "VIEW_EXPERIMENT_ARTIFACTS"], { isPart: true });
  expect(all.map(({ label }) => label)).toEqual(["Fork its search …", "Continue in a new experiment …", "Search hyperparameters …"]);
});

it("the buttons of a trial are the acts that are possible, each once", () => {
  const rights = { may: () => true, mayAnywhere: () => true };
  const named = (change: object) =>
    startButtons({ experiment: EXPERIMENT, trials: [TRIAL], trial: TRIAL, rights, ...change }).map(({ label }) => label);
  expect(named({})).toEqual(["Retry", "Fork"]);
  expect(named({ experiment: { ...EXPERIMENT, state: "STATE_RUNNING" } })).toEqual(["Fork"]);
  expect(named({ isPart: true, trial: { ...TRIAL, checkpointCount: 1 } })).toEqual(["Fork its search", "Continue"]);
  expect(named({ experiment: { ...EXPERIMENT, unmanaged: true } })).toEqual([]);
});
