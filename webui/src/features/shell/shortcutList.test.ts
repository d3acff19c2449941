import { expect, it } from "vitest";

import { PLACES } from "./navigation";
import { findShortcuts, SHORTCUT_GROUPS } from "./shortcutList";

it("lists each place that has a key", () => {
  const listed = SHORTCUT_GROUPS.find((group) => group.name === "Go to")?.shortcuts.map((each) => each.keys[1]);
  expect(listed).toEqual(PLACES.flatMap((place) => place.key ?? []));
});

it("has each combination of keys once", () => {
  const all = SHORTCUT_GROUPS.flatMap((group) => group.shortcuts.map((each) => each.keys.join(" ")));
  expect(new Set(all).size).toBe(all.length);
});

it("finds by act and drops empty groups", () => {
  expect(findShortcuts("side bar").map((group) => group.name)).toEqual(["Everywhere"]);
  expect(findShortcuts("zzz")).toEqual([]);
});
