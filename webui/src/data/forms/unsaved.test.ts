import { afterEach, expect, it } from "vitest";

import { hasUnsaved, holdUnsaved, losesText } from "./unsaved";

const at = (pathname: string, search = "") => ({ pathname, search });
let release: (() => void)[] = [];
const hold = (reach: "page" | "dialog") => release.push(holdUnsaved(reach));

afterEach(() => {
  release.forEach((each) => each());
  release = [];
});

it("nothing unsaved loses nothing", () => {
  expect(hasUnsaved()).toBe(false);
  expect(losesText(at("/a"), at("/b"))).toBe(false);
});

it("a page keeps its text while its path stays", () => {
  hold("page");
  expect(losesText(at("/a", "?x=1"), at("/a", "?x=2"))).toBe(false);
  expect(losesText(at("/a"), at("/b"))).toBe(true);
});

it("a dialog loses its text with its parameter, and only with that", () => {
  hold("dialog");
  expect(losesText(at("/a", "?dialog=fork"), at("/a"))).toBe(true);
  expect(losesText(at("/a", "?dialog=fork"), at("/a", "?dialog=edit"))).toBe(true);
  expect(losesText(at("/a", "?dialog=fork"), at("/a", "?dialog=fork&tab=yaml"))).toBe(false);
  expect(losesText(at("/a", "?launch=notebook"), at("/a"))).toBe(true);
});

it("a text that is released is asked about no more", () => {
  hold("page");
  release.forEach((each) => each());
  expect(hasUnsaved()).toBe(false);
});
