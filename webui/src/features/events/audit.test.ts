import { expect, it } from "vitest";

import type { AuditEntry } from "@/data/audit";

import { auditCsv, changedThing, filteredEntries, operationWords } from "./audit";

const entry = (operation: string, path: string, details = ""): AuditEntry => ({ id: "1", at: "2026-01-31T12:00:00Z", userId: 1, username: "ada", operation, method: "POST", path, details });

it("entries are read as sentences", () => {
  expect(["patch_user", "post_workspace", "assign_multiple_groups", "reload_all"].map(operationWords)).toEqual([
    "changed user",
    "created workspace",
    "assigned multiple groups",
    "reload all",
  ]);
  expect(changedThing(entry("archive_workspace", "/api/v1/workspaces/3/archive"))).toBe("workspaces/3");
  expect(changedThing(entry("put_template", "/api/v1/templates/my%20one"))).toBe("templates/my one");
  expect(changedThing(entry("put_template", "/api/v1/templates/100%"))).toBe("templates/100%");
  expect(changedThing(entry("patch_users", "/api/v1/users", "deactivated ann (2)"))).toBe("users: deactivated ann (2)");
});

it("entries are filtered by words and go into a file", () => {
  const entries = [entry("patch_user", "/api/v1/users/2"), entry("post_group", "/api/v1/groups")];
  expect(filteredEntries(entries, "changed ada").map((each) => each.operation)).toEqual(["patch_user"]);
  expect(auditCsv(entries.slice(0, 1))).toBe("time,user,operation,method,path,users\r\n2026-01-31T12:00:00Z,ada,patch_user,POST,/api/v1/users/2,\r\n");
});
