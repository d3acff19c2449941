import { expect, it } from "vitest";

import { openDraft } from "@/data/configs/draft";

import { FIRST_LAUNCH, firstWorkspace, lastOf, launchRefusal, launchStart } from "./launching";

it("a launch starts from the pool and slots of the last one", () => {
  expect(launchStart(FIRST_LAUNCH)).toBe("");
  const text = launchStart({ ...FIRST_LAUNCH, pool: "gpu", slots: 0 });
  expect(openDraft(text).value).toEqual({ resources: { resource_pool: "gpu", slots: 0 } });
  expect(lastOf(openDraft(text), 3, "base")).toEqual({ workspaceId: 3, template: "base", pool: "gpu", slots: 0 });
  expect(lastOf(openDraft("resources: {slots: x}"), 1, "")).toEqual({ ...FIRST_LAUNCH, workspaceId: 1 });
});

it("a command needs its words, or a template that may have them", () => {
  const empty = openDraft("");
  expect(launchRefusal("command", empty, "", 1)).toMatch(/Type the command/);
  expect(launchRefusal("command", empty, "base", 1)).toBeUndefined();
  expect(launchRefusal("command", openDraft("entrypoint: [ls]"), "", 1)).toBeUndefined();
  expect(launchRefusal("shell", empty, "", 1)).toBeUndefined();
  expect(launchRefusal("shell", empty, "", 0)).toMatch(/no workspace/);
});

it("the workspace is the last one, while the user may use it", () => {
  expect(firstWorkspace([{ id: 4 }, { id: 7 }], 7)).toBe(7);
  expect(firstWorkspace([{ id: 4 }], 7)).toBe(4);
  expect(firstWorkspace([], 7)).toBe(0);
});
