import { expect, it } from "vitest";

import { csvRows } from "./exported";
import { fromRun } from "./item";

it("a list as CSV has the shown columns, names of users, and seconds", () => {
  const item = fromRun({
    id: 40,
    state: "STATE_COMPLETED",
    userId: 2,
    startTime: "2026-01-01T00:00:00Z",
    endTime: "2026-01-01T00:01:30Z",
    hyperparameters: { lr: 0.1 },
    experiment: { id: 12, name: "a, b" },
  });
  const columns = ["id", "experimentName", "state", "user", "duration", "hp.lr", "hp.none"].map((id) => ({ id, header: id }));
  expect(csvRows([item], { columns, userName: (id) => `user ${id}` })).toBe(
    'id,experimentName,state,user,duration,hp.lr,hp.none\r\n40,"a, b",STATE_COMPLETED,user 2,90,0.1,\r\n',
  );
});
