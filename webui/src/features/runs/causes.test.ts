import { expect, it } from "vitest";

import { EMPTY_STATE } from "@/data/view/tableState";

import { CAUSE_COLUMN, failedIds, withCause, withoutCause } from "./causes";
import type { Item } from "./item";
import { toggledWeek } from "./ListTools";

const row = (id: number, state: string) => ({ id, state }) as Item;
const HEAD = { id: 0, state: "STATE_ERROR", group: {} } as Item;

it("failed rows are asked about, heads of groups and others are not", () => {
  expect(failedIds([row(3, "STATE_ERROR"), row(2, "STATE_COMPLETED"), HEAD, row(1, "ERROR"), row(3, "STATE_ERROR")])).toEqual([1, 3]);
  const many = Array.from({ length: 600 }, (_, id) => row(id + 1, "STATE_ERROR"));
  expect(failedIds(many)).toHaveLength(500);
  expect(failedIds(many)[0]).toBe(101);
});

it("the column stands beside the state, and no view keeps it", () => {
  const state = { ...EMPTY_STATE, columns: ["id", "name", "state", "user"] };
  const shown = withCause(state);
  expect(shown.columns).toEqual(["id", "name", "state", CAUSE_COLUMN, "user"]);
  expect(withCause(shown)).toBe(shown);
  expect(withoutCause({ ...shown, pinned: [CAUSE_COLUMN], widths: { [CAUSE_COLUMN]: 9, id: 1 } })).toEqual({ ...state, pinned: [], widths: { id: 1 } });
  expect(withCause({ ...state, columns: ["id", "user"] }).columns).toEqual(["id", "user", CAUSE_COLUMN]);
});

it("the last week is a term of the query, which comes and goes", () => {
  expect(toggledWeek("")).toBe("started>7d");
  expect(toggledWeek("state:error started>7d tag:a")).toBe("state:error tag:a");
});
