/** What a panel asks the master for, from its source and the columns of the project. */
import { compileQuery, type Filter, type FieldFilter } from "@/data/query/compile";
import { findField, nearest, type Field, type Fields } from "@/data/query/fields";
import type { Surroundings } from "@/data/query/values";
import { anyOfIds } from "@/features/runs/chosen";
import { ofSearch } from "@/features/runs/source";

import type { Source } from "./types";

export interface WantedRuns {
  /** 0 for all projects. */
  projectId: number;
  filter: Filter;
  sort: string;
}

export type Wanted = { wanted: WantedRuns } | { reason: string };

/** Ids are found wherever they are, archived ones too; a query reads one project. */
export function wantedRuns(source: Source, sort: string, boardProject: number, fields: Fields, around: Surroundings): Wanted {
  const sorted = wireSortOf(sort, fields);
  if ("reason" in sorted) return sorted;
  if (source.by === "query") {
    const { filter, problems } = compileQuery(source.query, fields, around);
    const [problem] = problems;
    if (problem) return { reason: `query: ${problem.term} ${problem.reason}` };
    return { wanted: { projectId: source.projectId || boardProject, filter, sort: sorted.sort } };
  }
  const children = source.by === "runs" ? anyOfIds(source.ids, "run") : [ofSearch(source.id)];
  const filter: Filter = { showArchived: true, filterGroup: { kind: "group", conjunction: "or", children } };
  return { wanted: { projectId: 0, filter, sort: sorted.sort } };
}

/** Only runs with a value in a column. */
export function withValue({ filter, ...rest }: WantedRuns, field: Field): WantedRuns {
  const has: FieldFilter = {
    kind: "field",
    columnName: field.column,
    location: field.location,
    operator: "notEmpty",
    type: "COLUMN_TYPE_NUMBER",
    value: null,
  };
  const filterGroup = { kind: "group" as const, conjunction: "and" as const, children: [filter.filterGroup, has] };
  return { ...rest, filter: { ...filter, filterGroup } };
}

/** `-startTime, validation.loss` as the master reads it; the newest runs first by default. */
export function wireSortOf(text: string, fields: Fields): { sort: string } | { reason: string } {
  const parts = text.split(",").map((each) => each.trim()).filter(Boolean);
  const sorts: string[] = [];
  for (const part of parts) {
    const name = part.replace(/^[-+]/, "");
    const found = columnOf(name, fields);
    if ("reason" in found) return { reason: `sort: ${found.reason}` };
    sorts.push(`${found.field.column}=${part.startsWith("-") ? "desc" : "asc"}`);
  }
  return { sort: sorts.join(",") || "id=desc" };
}

/** A column by any of its names; a metric without a figure means its last value. */
export function columnOf(name: string, fields: Fields): { field: Field } | { reason: string } {
  const field = findField(name, fields) ?? findField(`${name}.last`, fields);
  if (field) return { field };
  const near = nearest(name, fields);
  return { reason: `“${name}” is no column of the project's trials.${near ? ` Is it ${near}?` : ""}` };
}
