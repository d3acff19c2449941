import { describe, expect, it } from "vitest";

import { connectCommand, type GenericFacts, type InteractiveTask } from "@/data/tasks";

import { connectSteps } from "./connect";
import { eligibleFor, refusalOf, treeRows } from "./eligible";
import { filtered } from "./TasksPage";

const task = (change: Partial<InteractiveTask>): InteractiveTask => ({
  kind: "notebook",
  id: "a1",
  jobId: "j",
  name: "Explore",
  state: "STATE_RUNNING",
  userId: 1,
  workspaceId: 2,
  resourcePool: "default",
  startTime: undefined,
  exitStatus: undefined,
  serviceAddress: undefined,
  experimentIds: [],
  ...change,
});
const ALL = { kind: "", text: "", workspace: "", user: "", ended: true };

const generic = (id: string, state: string, change: Partial<GenericFacts> = {}) =>
  task({
    kind: "generic",
    id,
    name: id,
    state,
    generic: { projectId: 1, slots: 1, reason: "", parentId: "", forkedFrom: "", canPause: true, endTime: undefined, ...change },
  });

describe("the filters of tasks", () => {
  const tasks = [task({}), task({ id: "b2", kind: "shell", name: "debug", state: "STATE_TERMINATED", workspaceId: 3 })];

  it("leave ended tasks out unless they are asked for", () => {
    expect(filtered(tasks, { ...ALL, ended: false }).map(({ id }) => id)).toEqual(["a1"]);
    expect(filtered(tasks, ALL)).toHaveLength(2);
  });

  it("look at kind, workspace, user, name and the start of the id", () => {
    const ids = (filter: Partial<typeof ALL>) => filtered(tasks, { ...ALL, ...filter }).map(({ id }) => id);
    expect(ids({ kind: "shell" })).toEqual(["b2"]);
    expect(ids({ workspace: "2" })).toEqual(["a1"]);
    expect(ids({ user: "1" })).toEqual(["a1", "b2"]);
    expect(ids({ user: "2" })).toEqual([]);
    expect(ids({ text: "EXPL" })).toEqual(["a1"]);
    expect(ids({ text: "b2" })).toEqual(["b2"]);
  });
});

describe("acts on tasks", () => {
  it("pause what runs, unpause what is paused, kill what has not ended", () => {
    const states = ["RUNNING", "QUEUED", "PAUSED", "STOPPING_PAUSED", "STOPPING_CANCELED", "COMPLETED"];
    const takes = (act: "pause" | "unpause" | "kill") => states.filter((state) => !refusalOf(act, generic("g", state)));
    expect(takes("pause")).toEqual(["RUNNING", "QUEUED"]);
    expect(takes("unpause")).toEqual(["PAUSED"]);
    expect(takes("kill")).toEqual(["RUNNING", "QUEUED", "PAUSED", "STOPPING_PAUSED", "STOPPING_CANCELED"]);
  });

  it("pause no task that cannot be paused", () => {
    expect(refusalOf("pause", task({}))).toMatch(/not a generic task/);
    expect(refusalOf("pause", generic("g", "RUNNING", { canPause: false }))).toMatch(/no_pause/);
  });

  it("of a selection leave out the tasks that do not take them", () => {
    const found = eligibleFor("pause", [generic("a", "RUNNING"), generic("b", "PAUSED"), task({})]);
    expect([found.eligible.map(({ id }) => id), found.others]).toEqual([["a"], 2]);
  });
});

it("a tree lists each task below its parent, and those of hidden parents at the top", () => {
  const tasks = [
    generic("root", "RUNNING"),
    generic("b", "RUNNING", { parentId: "root" }),
    generic("a", "RUNNING", { parentId: "root" }),
    generic("b1", "RUNNING", { parentId: "b" }),
    generic("lost", "RUNNING", { parentId: "hidden" }),
  ];
  expect(treeRows(tasks).map(({ task: { id }, depth }) => [id, depth])).toEqual([
    ["root", 0],
    ["b", 1],
    ["b1", 2],
    ["a", 1],
    ["lost", 0],
  ]);
});

describe("help to connect", () => {
  it.each([
    ["shell", "det shell open x"],
    ["notebook", "det notebook open x"],
    ["tensorboard", "det tensorboard open x"],
    ["command", "det command logs -f x"],
    ["generic", "det task logs -f x"],
  ] as const)("to a %s begins with the master, then %s", (kind, command) => {
    const [first, second] = connectSteps({ kind, id: "x" }, "https://m/p");
    expect(first?.command).toBe("export DET_MASTER=https://m/p");
    expect(second?.command).toBe(command);
    expect(connectCommand({ kind, id: "x" })).toBe(command);
  });
});
