/** Panels that the editor inserts. */
import type { IconName } from "@/ui/icons/Icon";

export interface Known {
  /** A metric of the project. */
  metric: string;
  runId: number;
  experimentId: number;
}

export interface Template {
  label: string;
  icon: IconName;
  text: string;
}

/** Each one shows something of the project at once. */
export function templatesFor({ metric, runId, experimentId }: Known): Template[] {
  return [
    { label: "Chart of a metric", icon: "chart", text: block("chart", `metric: ${metric}`, "query: ", "limit: 10") },
    { label: "Table of trials", icon: "runs", text: block("runs", "query: ", "sort: -id", "limit: 10") },
    { label: "Number of trials", icon: "bars", text: block("number", "title: Trials", "query: ") },
    { label: "Best value", icon: "flag", text: block("number", `title: Best ${metric}`, `value: ${metric}`, "of: min", "query: ") },
    { label: "Story of an experiment", icon: "clock", text: block("story", `experiment: ${experimentId}`, "last: 10") },
    { label: "Chart of chosen trials", icon: "chart", text: block("chart", `metric: ${metric}`, `runs: ${runId}`) },
  ];
}

/** The text of a new board. */
export function firstText(): string {
  return [
    "Write Markdown here. Panels are fenced blocks, and show live data:",
    "",
    block("number", "title: Trials in this project"),
    block("number", "title: Failed", "query: state:error"),
    block("number", "title: Running", "query: state:running"),
    block("runs", "title: The newest trials", "sort: -id", "limit: 5"),
    "",
  ].join("\n");
}

function block(kind: string, ...lines: string[]): string {
  return ["```panel " + kind, ...lines, "```"].join("\n");
}
