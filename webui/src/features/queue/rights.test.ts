import { describe, expect, it } from "vitest";

import { rightsOf } from "@/data/permissions/permissions";

import { mayChange, mayKill } from "./rights";

const holder = (...names: string[]) =>
  rightsOf(
    {
      roles: [{ roleId: 1, permissions: names.map((name) => ({ id: `PERMISSION_TYPE_${name}` as never })) }],
      assignments: [{ roleId: 1, scopeWorkspaceIds: [7], scopeCluster: false }],
    },
    false,
  );
const experiment = { type: "TYPE_EXPERIMENT", workspaceId: 7 } as const;
const notebook = { type: "TYPE_NOTEBOOK", workspaceId: 7 } as const;

describe("jobs in the queue", () => {
  it("are ordered by who controls them, unless the cluster is strict", () => {
    expect(mayChange(holder("UPDATE_EXPERIMENT"), experiment, false)).toBe(true);
    expect(mayChange(holder("UPDATE_EXPERIMENT"), experiment, true)).toBe(false);
    expect(mayChange(holder("UPDATE_EXPERIMENT", "CONTROL_STRICT_JOB_QUEUE"), experiment, true)).toBe(true);
  });

  it("are not ended by who may only order the queue", () => {
    expect(mayKill(holder("CONTROL_STRICT_JOB_QUEUE"), experiment)).toBe(false);
    expect(mayKill(holder("UPDATE_NSC"), experiment)).toBe(false);
    expect(mayKill(holder("UPDATE_EXPERIMENT"), { ...experiment, workspaceId: 8 })).toBe(false);
  });

  it("are ended, as tasks, with a permission on tasks or experiments", () => {
    expect([mayKill(holder("UPDATE_NSC"), notebook), mayKill(holder("UPDATE_EXPERIMENT"), notebook)]).toEqual([true, true]);
  });
});
