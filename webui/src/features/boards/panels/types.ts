/** The panels of a board, as plain data. */
import type { SeriesAxis } from "@/data/series/types";

export type PanelKind = "chart" | "runs" | "number" | "story";
export type Width = "full" | "half" | "third";

/** The runs that a panel shows. */
export type Source =
  | { by: "runs"; ids: number[] }
  | { by: "experiment"; id: number }
  /** A query of the runs list; `projectId` 0 is the project of the board. */
  | { by: "query"; query: string; projectId: number };

interface Shared {
  title: string;
  width: Width;
}

export interface ChartPanel extends Shared {
  kind: "chart";
  source: Source;
  group: string;
  name: string;
  x: SeriesAxis;
  limit: number;
  sort: string;
  height: number;
}

export interface RunsPanel extends Shared {
  kind: "runs";
  source: Source;
  columns: string[];
  limit: number;
  sort: string;
}

export type Figure = "count" | "min" | "max" | "mean" | "median" | "sum" | "latest";

export interface NumberPanel extends Shared {
  kind: "number";
  source: Source;
  /** Empty for the count. */
  value: string;
  of: Figure;
}

export interface StoryPanel extends Shared {
  kind: "story";
  of: "experiments" | "trials" | "tasks";
  id: string;
  last: number;
  level: "all" | "warning" | "error";
}

export type Panel = ChartPanel | RunsPanel | NumberPanel | StoryPanel;

/** A part of a board's text. `line` counts from 1. */
export type Segment =
  | { kind: "text"; text: string; line: number }
  | { kind: "panel"; panel: Panel; line: number }
  | { kind: "broken"; problems: Problem[]; source: string; line: number };

export interface Problem {
  line: number;
  reason: string;
}
