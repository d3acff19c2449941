import { expect, it } from "vitest";

import { commandLine, entrypointOf } from "./launches";

it("a command is a line for a shell, and back", () => {
  const line = "python train.py --name 'two words' && ls";
  expect(commandLine(entrypointOf(line))).toBe(line);
  expect(entrypointOf("  ")).toBeUndefined();
});

it("other words are quoted as a shell needs them", () => {
  expect(commandLine(["python", "-c", "print(1)"])).toBe("python -c 'print(1)'");
  expect(commandLine("sleep 1")).toBe("sleep 1");
  expect(commandLine(undefined)).toBe("");
});
