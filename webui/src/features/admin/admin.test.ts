import { describe, expect, it } from "vitest";

import { membersOf } from "@/data/people/groups";
import { tokenState } from "@/data/people/tokens";
import { passwordRefusal } from "@/data/people/users";

import { agentOf, agentRefusal, draftOf } from "./AgentFields";
import { filterUsers } from "./users/filter";

describe("filterUsers", () => {
  const users = [
    { id: 1, username: "admin", admin: true, active: true },
    { id: 2, username: "ada", displayName: "Ada L", active: true },
    { id: 3, username: "gone", active: false },
  ];
  const ids = (change: object) =>
    filterUsers(users, { text: "", kind: "all", status: "all", ...change }).map((each) => each.id);
  it("filters by text, role and status", () => {
    expect(ids({ text: "ada l" })).toEqual([2]);
    expect(ids({ kind: "admin" })).toEqual([1]);
    expect(ids({ kind: "member", status: "active" })).toEqual([2]);
    expect(ids({ status: "inactive" })).toEqual([3]);
  });
});

describe("user and group of the tasks", () => {
  it("round-trips", () => {
    const agent = { agentUser: "ada", agentUid: 0, agentGroup: "lab", agentGid: 7 };
    expect(agentOf(draftOf(agent))).toEqual(agent);
    expect(agentOf(draftOf(undefined))).toBeUndefined();
  });
  it("needs a name with each id", () => {
    const empty = draftOf(undefined);
    expect(agentRefusal(empty)).toBeUndefined();
    expect(agentRefusal({ ...empty, uid: "5" })).toMatch(/name and an id/);
    expect(agentRefusal({ ...empty, uid: "-1", user: "ada" })).toMatch(/number/);
    expect(agentRefusal({ ...empty, uid: "5", user: "ada" })).toBeUndefined();
  });
});

it("refuses the passwords that the master refuses", () => {
  for (const password of ["Short-1", " ".repeat(12), "🦊".repeat(7)])
    expect(passwordRefusal(password)).toMatch(/8 characters/);
  for (const password of ["all lower case", "12345678", "🦊".repeat(8)])
    expect(passwordRefusal(password)).toBeUndefined();
});

it("tells the states of tokens apart", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  expect(tokenState({ expiry: "2026-01-03T00:00:00Z" }, now)).toBe("valid");
  expect(tokenState({ expiry: "2026-01-01T00:00:00Z" }, now)).toBe("expired");
  expect(tokenState({ expiry: "2026-01-03T00:00:00Z", revoked: true }, now)).toBe("revoked");
});

it("lists one member for each assignment", () => {
  const members = membersOf({
    groups: [{ groupId: 7, name: "lab" }],
    usersAssignedDirectly: [{ id: 3, username: "ada" }],
    assignments: [
      {
        role: { roleId: 4, name: "Viewer" },
        userRoleAssignments: [{ userId: 3 }],
        groupRoleAssignments: [{ groupId: 7 }],
      },
      { role: { roleId: 5, name: "Editor" }, userRoleAssignments: [{ userId: 3 }] },
    ],
  });
  expect(members.map((each) => `${each.kind} ${each.name} ${each.role}`)).toEqual([
    "group lab Viewer",
    "user ada Viewer",
    "user ada Editor",
  ]);
});
