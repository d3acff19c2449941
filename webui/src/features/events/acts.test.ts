import { expect, it } from "vitest";

import type { Act } from "@/data/acts";

import { actsCsv, actThing, actWords, narrowedActs } from "./acts";

const act = (operation: string, path: string): Act => ({ id: "1", at: "2026-01-31T12:00:00Z", userId: 1, username: "ada", operation, method: "POST", path });

it("acts are read as sentences", () => {
  expect(["patch_user", "post_workspace", "assign_multiple_groups", "reload_all"].map(actWords)).toEqual([
    "changed user",
    "created workspace",
    "assigned multiple groups",
    "reload all",
  ]);
  expect(actThing(act("archive_workspace", "/api/v1/workspaces/3/archive"))).toBe("workspaces/3");
  expect(actThing(act("put_template", "/api/v1/templates/my%20one"))).toBe("templates/my one");
  expect(actThing(act("put_template", "/api/v1/templates/100%"))).toBe("templates/100%");
});

it("acts are narrowed by words and go into a file", () => {
  const acts = [act("patch_user", "/api/v1/users/2"), act("post_group", "/api/v1/groups")];
  expect(narrowedActs(acts, "changed ada").map((each) => each.operation)).toEqual(["patch_user"]);
  expect(actsCsv(acts.slice(0, 1))).toBe("time,user,operation,method,path\r\n2026-01-31T12:00:00Z,ada,patch_user,POST,/api/v1/users/2\r\n");
});
