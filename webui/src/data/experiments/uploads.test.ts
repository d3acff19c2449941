import { expect, it } from "vitest";

import { chosenFiles, MAX_BYTES, MAX_FILES, merged, modelDefinition, uploadProblems, withoutIgnored, type Upload } from "./uploads";

function upload(path: string, text = "", size = text.length): Upload {
  return { path, size, modified: 2500, file: new Blob([text]) };
}

function chosen(path: string): File {
  const file = new File(["x"], path.split("/").at(-1) ?? "");
  Object.defineProperty(file, "webkitRelativePath", { value: path.includes("/") ? path : "" });
  return file;
}

it("a chosen folder is the root itself", () => {
  expect(chosenFiles([chosen("code/train.py"), chosen("code/lib/a.py")]).map(({ path }) => path)).toEqual(["train.py", "lib/a.py"]);
  expect(chosenFiles([chosen("train.py"), chosen("config.yaml")]).map(({ path }) => path)).toEqual(["train.py", "config.yaml"]);
});

it("what .detignore names is left out and counted", async () => {
  const files = [upload(".detignore", "data/\n*.bin"), upload("data/a.csv"), upload("w.bin"), upload("train.py")];
  const folder = await withoutIgnored(files);
  expect(folder.files.map(({ path }) => path)).toEqual(["train.py"]);
  expect(folder.ignored).toBe(2);
});

it("of two files with one path the later one is sent", () => {
  const files = merged([upload("b"), upload("a", "old")], [upload("a", "newer")]);
  expect(files.map(({ path, size }) => [path, size])).toEqual([
    ["a", 5],
    ["b", 0],
  ]);
});

it("what the master would refuse is named before anything is sent", () => {
  expect(uploadProblems([upload("a", "", MAX_BYTES)])).toEqual([]);
  expect(uploadProblems([upload("a"), upload("data/big.bin", "", MAX_BYTES + 1)])[0]).toMatch(
    /^The files have 96 MiB, at most 96 MiB can be sent\. The largest: data\/big\.bin \(96 MiB\).*\.detignore/,
  );
  expect(uploadProblems(Array.from({ length: MAX_FILES + 1 }, (_, at) => upload(`f${at}`)))[0]).toMatch(/^50,001 files are chosen, at most 50,000/);
  for (const path of ["../x", "a/../../x", "/etc/passwd", "", "a\0b"]) expect(uploadProblems([upload(path)])[0]).toMatch(/leads out of the folder/);
  expect(uploadProblems([upload("a/".repeat(100) + "b")])[0]).toMatch(/too long/);
  expect(uploadProblems([upload("ü/\u202e weird 'name'.py"), upload("..a")])).toEqual([]);
});

it("files are sent in base64, folders before their contents, scripts as programs", async () => {
  const items = await modelDefinition([upload("run.sh", "#!/bin/sh\n"), upload("a/b/x.bin", "\u00ff"), upload("empty")]);
  expect(items.map(({ path, type, mode, content, mtime }) => [path, type, mode?.toString(8), content, mtime])).toEqual([
    ["a", 53, "40755", "", "0"],
    ["a/b", 53, "40755", "", "0"],
    ["run.sh", 48, "100755", "IyEvYmluL3NoCg==", "2"],
    ["a/b/x.bin", 48, "100644", "w78=", "2"],
    ["empty", 48, "100644", "", "2"],
  ]);
});
