import { describe, expect, it } from "vitest";

import { fileAt, histogramOf, itemsOf, mediaAddress, stepsOf, tableOf } from "./media";

const series = (extension: string, steps: number[], name = "n") => ({
  group: "g",
  name,
  kind: "image",
  extension,
  path: `g/${name}`,
  steps,
});

describe("media", () => {
  it("makes one item of several formats, by steps", () => {
    const [item, ...others] = itemsOf([series("jpg", [30]), series("png", [10, 20])]);
    expect(others).toEqual([]);
    expect(item?.files).toEqual([
      { steps: 10, path: "g/n/000000000010.image.png" },
      { steps: 20, path: "g/n/000000000020.image.png" },
      { steps: 30, path: "g/n/000000000030.image.jpg" },
    ]);
  });

  it("finds the latest value at some steps", () => {
    const items = itemsOf([series("png", [10, 30]), series("png", [20], "m")]);
    expect(stepsOf(items)).toEqual([10, 20, 30]);
    expect(fileAt(items[0]!, 29)?.steps).toBe(10);
    expect(fileAt(items[0]!, 30)?.steps).toBe(30);
    expect(fileAt(items[1]!, 10)).toBeUndefined();
  });

  it("escapes the parts of an address", () => {
    expect(mediaAddress(3, "g/a=2Fb/1.text.txt")).toMatch(/\/api\/ui\/v1\/trials\/3\/media\/g\/a%3D2Fb\/1\.text\.txt$/);
  });

  it("reads tables, and refuses other files", () => {
    const text = '{"columns": ["a", 1], "rows": [[1, null], ["<b>", true], 7, [{"x": 1}, [2]]]}';
    expect(tableOf(text)).toEqual({ columns: ["a", "1"], rows: [["1", "–"], ["<b>", "true"], ['{"x":1}', "[2]"]] });
    for (const wrong of ["", "7", "null", "[]", "{}", '{"columns": 1, "rows": []}', "<html>"]) expect(tableOf(wrong)).toBeUndefined();
  });

  it("reads histograms, and refuses other files", () => {
    expect(histogramOf('{"edges": [0, 1, 2], "counts": [3, 4], "notFinite": 1}')).toEqual({ edges: [0, 1, 2], counts: [3, 4], notFinite: 1 });
    for (const wrong of ["", "{}", '{"edges": [0], "counts": []}', '{"edges": [0, 1], "counts": ["a"]}', '{"edges": [0, 1, 2], "counts": [1]}'])
      expect(histogramOf(wrong)).toBeUndefined();
  });
});
