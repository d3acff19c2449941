import { describe, expect, it } from "vitest";

import { filterModels, ownersOf, splitTags, tagsOf } from "./filter";

const MODELS = [
  { id: 1, name: "detector", description: "boxes", labels: ["prod", "a"], userId: 1 },
  { id: 2, name: "reader", description: "Texts", labels: ["a"], userId: 2 },
  { id: 3, name: "old", description: "", labels: [], userId: 1, archived: true },
];
const NONE = { text: "", tag: "", owner: 0, archived: false };
const ids = (change: Partial<typeof NONE>) => filterModels(MODELS, { ...NONE, ...change }).map((each) => each.id);

describe("filterModels", () => {
  it("hides archived models", () => expect(ids({})).toEqual([1, 2]));
  it("shows archived models on request", () => expect(ids({ archived: true })).toEqual([1, 2, 3]));
  it("looks into names and descriptions", () => expect(ids({ text: "TEXT" })).toEqual([2]));
  it("filters by tag and owner", () => {
    expect(ids({ tag: "prod" })).toEqual([1]);
    expect(ids({ owner: 2 })).toEqual([2]);
  });
});

it("lists tags and owners once", () => {
  expect(tagsOf(MODELS)).toEqual(["a", "prod"]);
  expect(ownersOf(MODELS)).toEqual([1, 2]);
});

it("splits tags", () => expect(splitTags(" a, b ,,a")).toEqual(["a", "b"]));
