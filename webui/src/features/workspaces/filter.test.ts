import { describe, expect, it } from "vitest";

import { filterProjects, filterWorkspaces, type Filter, type Sort } from "./filter";

const ALL: Filter<Sort> = { owner: "all", me: 1, archived: false, text: "", sort: "name" };
const LIST = [
  { id: 1, name: "beta", userId: 1, numExperiments: 2 },
  { id: 2, name: "alpha", userId: 2, numExperiments: 9 },
  { id: 3, name: "gamma", userId: 1, pinned: true },
  { id: 4, name: "old", userId: 1, archived: true },
];
const names = (filter: Partial<Filter<Sort>>) => filterWorkspaces(LIST, { ...ALL, ...filter }).map((each) => each.name);

describe("filterWorkspaces", () => {
  it("puts pinned ones first and hides archived ones", () => {
    expect(names({})).toEqual(["gamma", "alpha", "beta"]);
  });
  it("filters by owner", () => {
    expect(names({ owner: "mine" })).toEqual(["gamma", "beta"]);
    expect(names({ owner: "others" })).toEqual(["alpha"]);
  });
  it("filters by text without regard to case", () => {
    expect(names({ text: " ALP" })).toEqual(["alpha"]);
  });
  it("sorts", () => {
    expect(names({ sort: "newest", archived: true })).toEqual(["gamma", "old", "alpha", "beta"]);
    expect(names({ sort: "experiments" })).toEqual(["gamma", "alpha", "beta"]);
  });
});

describe("filterProjects", () => {
  it("searches descriptions too, and sorts by the last experiment", () => {
    const projects = [
      { id: 1, name: "beta", description: "first", lastExperimentStartedAt: "2026-01-01T00:00:00Z" },
      { id: 2, name: "alpha", description: "second" },
      { id: 3, name: "gamma", description: "third", lastExperimentStartedAt: "2026-02-01T00:00:00Z" },
    ];
    const filter = { owner: "all", me: 1, archived: false, text: "", sort: "last" } as const;
    expect(filterProjects(projects, filter).map((each) => each.name)).toEqual(["gamma", "beta", "alpha"]);
    expect(filterProjects(projects, { ...filter, text: "Second" }).map((each) => each.id)).toEqual([2]);
  });
});
