import { describe, expect, it } from "vitest";

import { firstFile, treeKey, treeRows, type FileNode } from "./tree";

const file = (path: string): FileNode => ({ path, name: path.split("/").pop() ?? path, isDir: false });
const nodes: FileNode[] = [
  file("train.py"),
  file("a10.txt"),
  file("a2.txt"),
  { path: "src", name: "src", isDir: true, children: [file("src/model.py")] },
];

describe("a file tree", () => {
  it("shows directories first, then names in the order of their numbers", () => {
    expect(treeRows(nodes, new Set()).map((row) => row.node.path)).toEqual(["src", "a2.txt", "a10.txt", "train.py"]);
    const rows = treeRows(nodes, new Set(["src"]));
    expect(rows[1]).toMatchObject({ node: { path: "src/model.py" }, level: 2, parent: "src", position: 1, siblings: 1 });
  });

  it("opens the wanted file, else the first", () => {
    expect(firstFile(nodes, "src/model.py")?.path).toBe("src/model.py");
    expect(firstFile(nodes, "gone")?.path).toBe("a2.txt");
    expect(firstFile([], undefined)).toBeUndefined();
  });

  it("follows the keys of a tree", () => {
    const open = new Set(["src"]);
    const rows = treeRows(nodes, open);
    expect(treeKey("ArrowRight", treeRows(nodes, new Set()), "src", new Set())).toEqual({ toggle: "src" });
    expect(treeKey("ArrowRight", rows, "src", open)).toEqual({ move: "src/model.py" });
    expect(treeKey("ArrowLeft", rows, "src/model.py", open)).toEqual({ move: "src" });
    expect(treeKey("ArrowLeft", rows, "src", open)).toEqual({ toggle: "src" });
    expect(treeKey("Enter", rows, "train.py", open)).toEqual({ open: "train.py" });
    expect(treeKey("ArrowDown", rows, "train.py", open)).toBeUndefined();
    expect(treeKey("x", rows, "src", open)).toBeUndefined();
  });
});
