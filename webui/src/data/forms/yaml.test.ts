import { describe, expect, it } from "vitest";

import { lineOf, parseObject, toYaml } from "./yaml";

describe("parseObject", () => {
  it("reads an object", () => {
    expect(parseObject("a: 1\nb: [x]")).toEqual({ value: { a: 1, b: ["x"] } });
  });
  it("reads an empty text and a comment as an empty object", () => {
    expect(parseObject("")).toEqual({ value: {} });
    expect(parseObject("# nothing")).toEqual({ value: {} });
  });
  it("names the line of an error", () => {
    const got = parseObject("type: shared_fs\nhost_path: [1\n");
    expect("error" in got && got.error.line).toBeGreaterThan(1);
  });
  it("refuses a list", () => {
    expect(parseObject("- 1")).toHaveProperty("error");
  });
});

describe("lineOf", () => {
  const text = "resources:\n  max_slots: -2\nname: x\nconstraints:\n  max_slots: 1\n";
  it("finds the path that a message names", () => {
    expect(lineOf(text, "constraints.max_slots must be positive")).toBe(5);
  });
  it("finds a name alone", () => {
    expect(lineOf(text, "'name' is taken")).toBe(3);
  });
  it("finds a path below a prefix of the master", () => {
    expect(lineOf(text, "config.resources.max_slots: -2 is too small")).toBe(2);
  });
  it("finds a path below a name in brackets", () => {
    expect(lineOf(text, "<policies>.constraints.max_slots: must be >= 0")).toBe(5);
  });
  it("names no line when no field is named", () => {
    expect(lineOf(text, "permission denied")).toBeUndefined();
  });
});

describe("toYaml", () => {
  it("writes nothing for an empty object", () => {
    expect(toYaml({})).toBe("");
    expect(toYaml(undefined)).toBe("");
  });
  it("round-trips", () => {
    const value = { a: { b: [1, "two", null] } };
    expect(parseObject(toYaml(value))).toEqual({ value });
  });
});
