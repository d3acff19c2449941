import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { figureOf } from "./figures";
import { panelsOf, rowsOf, splitBoard } from "./split";
import { templatesFor } from "./templates";

const block = (info: string, ...lines: string[]) => ["```" + info, ...lines, "```"].join("\n");

describe("the text of a board", () => {
  it("has Markdown and panels in turn, with their lines", () => {
    const text = ["# Week", "", block("panel chart", "metric: loss"), block("panel number"), "", "end"].join("\n");
    const segments = splitBoard(text);
    expect(segments.map((each) => [each.kind, each.line])).toEqual([
      ["text", 1],
      ["panel", 3],
      ["panel", 6],
      ["text", 8],
    ]);
    expect(rowsOf(segments).map((row) => row.length)).toEqual([1, 2, 1]);
  });

  it("keeps other code as it is, a panel inside of it too", () => {
    const text = ["````md", block("panel chart"), "````", block("python", "x = 1"), block("panels"), "a ```panel``` b"].join("\n");
    expect(splitBoard(text)).toEqual([{ kind: "text", text, line: 1 }]);
  });

  it("says where a panel has no end", () => {
    const [, broken] = splitBoard("text\n```panel chart\nmetric: loss");
    expect(broken).toMatchObject({ kind: "broken", line: 2, problems: [{ line: 2 }] });
  });

  it("is cut at whole lines, in their order, whatever it is", () => {
    const line = fc.constantFrom("```", "~~~", "```panel chart", "metric: a", "", "# t", "    ```panel number", "````");
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        let last = 0;
        for (const each of splitBoard(lines.join("\n"))) {
          expect(each.line).toBeGreaterThan(last);
          last = each.line;
          if (each.kind !== "text") continue;
          const text = each.text.split("\n");
          expect(lines.slice(each.line - 1, each.line - 1 + text.length)).toEqual(text);
          last += text.length - 1;
        }
      }),
    );
  });
});

describe("a panel", () => {
  const read = (info: string, ...lines: string[]) => splitBoard(block(info, ...lines))[0];
  const reasons = (info: string, ...lines: string[]) => {
    const found = read(info, ...lines);
    return found?.kind === "broken" ? found.problems.map((each) => `${each.line}: ${each.reason}`) : [];
  };

  it("of a chart names a metric and runs", () => {
    expect(read("panel chart", "metric: training.loss", "# a remark", "runs: 12, 13", "x: epochs", "limit: 5")).toMatchObject({
      panel: { kind: "chart", group: "training", name: "loss", source: { by: "runs", ids: [12, 13] }, x: "epochs", limit: 5, width: "half" },
    });
    expect(read("panel chart", "metric: loss", "query: state:error hp.lr<0.1")).toMatchObject({
      panel: { group: "validation", name: "loss", source: { by: "query", query: "state:error hp.lr<0.1", projectId: 0 } },
    });
  });

  it("without more is the count of the project's runs", () => {
    expect(read("panel number")).toMatchObject({ panel: { kind: "number", of: "count", value: "", source: { by: "query", query: "" } } });
  });

  it("of a story is that of one thing", () => {
    expect(read("panel story", "task: a-b")).toMatchObject({ panel: { of: "tasks", id: "a-b", last: 20 } });
    expect(reasons("panel story")).toHaveLength(1);
    expect(reasons("panel story", "run: 1", "experiment: 2")).toHaveLength(1);
  });

  it.each([
    ["panel graph", [], "1: “graph” is no kind of panel. Kinds are chart, runs, number, story."],
    ["panel chart", [], "1: A chart needs a metric: add a line such as metric: validation.loss"],
    ["panel chart", ["metric: a", "colour: red"], "3: “colour” is no key of a panel chart. Keys are metric, query, project, experiment, runs, sort, limit, x, height, title, width."],
    ["panel chart", ["metric: a", "limit: 51"], "3: limit is “51”: it must be a whole number from 1 to 50."],
    ["panel chart", ["metric: a", "x: steps"], "3: “steps” is no axis. Axes are batches, epochs, relative, time, and metric:NAME."],
    ["panel runs", ["runs: 1, x"], "2: runs takes 1 to 100 ids of trials with commas between them: runs: 12, 13"],
    ["panel runs", ["runs: 1", "query: a"], "3: runs and query exclude each other: keep one of them."],
    ["panel runs", ["runs: 1", "project: 2"], "3: project goes with query; runs names things of any project."],
    ["panel number", ["of: best"], "2: “best” is no of: it is one of count, min, max, mean, median, sum, latest."],
    ["panel number", ["of: max"], "2: “max” needs a column: add a line such as value: validation.loss"],
    ["panel story", ["experiment: first"], "2: experiment is “first”: it must be an id, a whole number from 1."],
    ["panel runs", ["limit 3"], "2: “limit 3” is no line of the form key: value."],
    ["panel runs", ["limit: 3", "limit: 4"], "3: “limit” stands there twice."],
  ])("%s with %j is refused with its line and its remedy", (info, lines, reason) => {
    expect(reasons(info, ...lines)).toContain(reason);
  });

  it("of each template is complete", () => {
    for (const { text } of templatesFor({ metric: "validation.loss", runId: 3, experimentId: 2 })) expect(panelsOf(splitBoard(text))).toHaveLength(1);
  });
});

describe("a figure of runs", () => {
  it("leaves out what is not finite", () => {
    const values = [3, NaN, 1, Infinity, 2];
    expect((["min", "max", "mean", "median", "sum"] as const).map((of) => figureOf(of, values))).toEqual([1, 3, 2, 2, 6]);
    expect(figureOf("latest", values)).toBe(3);
    expect(figureOf("median", [1, 2])).toBe(1.5);
    expect(figureOf("max", [NaN])).toBeUndefined();
  });
});
