import { expect, it } from "vitest";

import type { MenuItem } from "@/ui/overlay/Menu";

import type { Item } from "./item";
import { boardSources, startEntries } from "./starts";

const ITEM = { id: 40, experimentId: 12, workspaceId: 3, isMultitrial: false, unmanaged: false } as Item;
const ALL = { may: () => true, mayAnywhere: () => true };
const NONE = { may: () => false, mayAnywhere: () => false };

const items = (item: Partial<Item>, table: "run" | "experiment", rights = ALL) =>
  startEntries({ ...ITEM, ...item }, table, rights, () => undefined).filter((each): each is MenuItem => Boolean(each));

it("a run leads to the dialogs of its page", () => {
  expect(items({}, "run").map(({ to }) => to)).toEqual([
    "/experiments/12/overview?dialog=fork",
    "/experiments/12/overview?dialog=branch",
    "/experiments/12/overview?dialog=search",
    undefined,
  ]);
  expect(items({ isMultitrial: true }, "run")[0]?.to).toBe("/experiments/12/trials/40/overview?dialog=branch");
  expect(items({ id: 12, isMultitrial: true }, "experiment")[0]?.to).toBe("/experiments/12/overview?dialog=fork");
});

it("acts are absent without the permission, and disabled for a detached run", () => {
  expect(items({}, "run", NONE)).toEqual([]);
  expect(items({ unmanaged: true }, "run").every(({ disabledReason, to }) => disabledReason && !to)).toBe(true);
});

it("a TensorBoard shows runs or experiments, without detached ones", () => {
  const rows = [ITEM, { ...ITEM, id: 41, unmanaged: true }];
  expect(boardSources(rows, "run")).toEqual({ experimentIds: [], trialIds: [40] });
  expect(boardSources(rows, "experiment")).toEqual({ experimentIds: [40], trialIds: [] });
});
