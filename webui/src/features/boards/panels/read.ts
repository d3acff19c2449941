/** Reads the lines `key: value` of a panel. */
import type { SeriesAxis } from "@/data/series/types";

import type { Figure, Panel, PanelKind, Problem, Source, Width } from "./types";

export const KINDS: readonly PanelKind[] = ["chart", "runs", "number", "story"];

const SOURCES = ["query", "project", "experiment", "runs"];
export const KEYS: Record<PanelKind, readonly string[]> = {
  chart: ["metric", ...SOURCES, "sort", "limit", "x", "height", "title", "width"],
  runs: [...SOURCES, "columns", "sort", "limit", "title", "width"],
  number: ["value", "of", ...SOURCES, "title", "width"],
  story: ["experiment", "run", "task", "last", "level", "title", "width"],
};
const WIDTHS: Record<PanelKind, Width> = { chart: "half", runs: "full", number: "third", story: "full" };
const FIGURES: readonly Figure[] = ["count", "min", "max", "mean", "median", "sum", "latest"];
const AXES = ["batches", "epochs", "relative", "time"];
const LEVELS = ["all", "warning", "error"] as const;
/** A chart overlays at most so many runs. */
export const MAX_LINES = 50;
export const MAX_ROWS = 200;
const MAX_IDS = 100;

export function readPanel(kind: string, body: readonly string[], line: number): { panel: Panel } | { problems: Problem[] } {
  if (!isKind(kind))
    return { problems: [{ line, reason: `“${kind}” is no kind of panel. Kinds are ${KINDS.join(", ")}.` }] };
  const reader = new Reader(kind, body, line);
  const panel = reader.panel();
  return reader.problems.length > 0 ? { problems: reader.problems } : { panel };
}

function isKind(kind: string): kind is PanelKind {
  return (KINDS as readonly string[]).includes(kind);
}

class Reader {
  readonly problems: Problem[] = [];
  private values = new Map<string, { text: string; line: number }>();

  constructor(
    private readonly kind: PanelKind,
    body: readonly string[],
    private readonly first: number,
  ) {
    body.forEach((text, at) => this.take(text, first + 1 + at));
  }

  panel(): Panel {
    const shared = {
      title: this.text("title"),
      width: this.choice<Width>("width", ["full", "half", "third"], WIDTHS[this.kind]),
    };
    switch (this.kind) {
      case "chart": {
        const { group, name } = this.metric();
        return {
          ...shared,
          kind: "chart",
          group,
          name,
          source: this.source(),
          x: this.axis(),
          limit: this.number("limit", 10, 1, MAX_LINES),
          sort: this.text("sort"),
          height: this.number("height", 240, 120, 800),
        };
      }
      case "runs":
        return {
          ...shared,
          kind: "runs",
          source: this.source(),
          columns: this.list("columns"),
          limit: this.number("limit", 20, 1, MAX_ROWS),
          sort: this.text("sort"),
        };
      case "number": {
        const value = this.text("value");
        const of = this.choice<Figure>("of", FIGURES, value ? "latest" : "count");
        if (!value && of !== "count") this.add("of", `“${of}” needs a column: add a line such as value: validation.loss`);
        return { ...shared, kind: "number", source: this.source(), value, of };
      }
      case "story":
        return {
          ...shared,
          kind: "story",
          ...this.thing(),
          last: this.number("last", 20, 1, MAX_ROWS),
          level: this.choice("level", LEVELS, "all"),
        };
    }
  }

  private take(text: string, line: number): void {
    if (!text.trim() || text.trimStart().startsWith("#")) return;
    const found = /^\s*([A-Za-z]+)\s*:\s*(.*?)\s*$/.exec(text);
    if (!found) {
      this.problems.push({ line, reason: `“${short(text.trim())}” is no line of the form key: value.` });
      return;
    }
    const key = (found[1] ?? "").toLowerCase();
    const known = KEYS[this.kind];
    if (!known.includes(key))
      this.problems.push({ line, reason: `“${key}” is no key of a panel ${this.kind}. Keys are ${known.join(", ")}.` });
    else if (this.values.has(key)) this.problems.push({ line, reason: `“${key}” stands there twice.` });
    else this.values.set(key, { text: found[2] ?? "", line });
  }

  private source(): Source {
    const given = ["runs", "experiment", "query"].filter((key) => this.text(key) !== "");
    if (given.length > 1) this.add(given[1] ?? "", `${given.join(" and ")} exclude each other: keep one of them.`);
    if (given[0] !== "query" && given.length > 0 && this.text("project"))
      this.add("project", `project goes with query; ${given[0]} names things of any project.`);
    if (this.text("runs")) {
      const ids = this.list("runs").map(Number);
      if (ids.length > MAX_IDS || !ids.every(isId))
        this.add("runs", `runs takes 1 to ${MAX_IDS} ids of trials with commas between them: runs: 12, 13`);
      return { by: "runs", ids };
    }
    if (this.text("experiment")) return { by: "experiment", id: this.id("experiment") };
    return { by: "query", query: this.text("query"), projectId: this.text("project") ? this.id("project") : 0 };
  }

  private thing(): { of: "experiments" | "trials" | "tasks"; id: string } {
    const given = ["experiment", "run", "task"].filter((key) => this.text(key) !== "");
    if (given.length !== 1)
      this.add(given[1] ?? "", "A story is that of one thing: give experiment, run or task with its id.");
    if (this.text("task")) return { of: "tasks", id: this.text("task") };
    if (this.text("run")) return { of: "trials", id: String(this.id("run")) };
    return { of: "experiments", id: this.text("experiment") ? String(this.id("experiment")) : "" };
  }

  /** `validation.loss`; a name without a dot is a metric of the group validation. */
  private metric(): { group: string; name: string } {
    const text = this.text("metric");
    const dot = text.indexOf(".");
    if (!text) this.add("metric", "A chart needs a metric: add a line such as metric: validation.loss");
    if (dot <= 0 || dot === text.length - 1) return { group: "validation", name: text };
    return { group: text.slice(0, dot), name: text.slice(dot + 1) };
  }

  private axis(): SeriesAxis {
    const text = this.text("x") || "batches";
    if (!AXES.includes(text) && !/^metric:./.test(text))
      this.add("x", `“${short(text)}” is no axis. Axes are ${AXES.join(", ")}, and metric:NAME.`);
    return text as SeriesAxis;
  }

  private choice<T extends string>(key: string, options: readonly T[], fallback: T): T {
    const text = this.text(key);
    if (!text) return fallback;
    const found = options.find((each) => each === text.toLowerCase());
    if (!found) this.add(key, `“${short(text)}” is no ${key}: it is one of ${options.join(", ")}.`);
    return found ?? fallback;
  }

  private number(key: string, fallback: number, least: number, most: number): number {
    const text = this.text(key);
    if (!text) return fallback;
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    this.add(key, `${key} is “${short(text)}”: it must be a whole number from ${least} to ${most}.`);
    return fallback;
  }

  private id(key: string): number {
    const value = Number(this.text(key));
    if (!isId(value)) this.add(key, `${key} is “${short(this.text(key))}”: it must be an id, a whole number from 1.`);
    return value;
  }

  private list(key: string): string[] {
    return this.text(key).split(",").map((each) => each.trim()).filter(Boolean);
  }

  private text(key: string): string {
    return this.values.get(key)?.text ?? "";
  }

  private add(key: string, reason: string): void {
    this.problems.push({ line: this.values.get(key)?.line ?? this.first, reason });
  }
}

function isId(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value < 2 ** 31;
}

function short(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
