import { describe, expect, it } from "vitest";

import { fieldsOf } from "@/data/query/fields";

import { columnOf, wantedRuns, wireSortOf, withValue } from "./wanted";

const fields = fieldsOf("run", [
  { column: "id", location: "LOCATION_TYPE_RUN", type: "COLUMN_TYPE_NUMBER" },
  { column: "state", location: "LOCATION_TYPE_RUN", type: "COLUMN_TYPE_TEXT" },
  { column: "validation.loss.last", location: "LOCATION_TYPE_VALIDATIONS", type: "COLUMN_TYPE_NUMBER" },
]);
const around = { me: "ada", now: 0 };

describe("what a panel reads", () => {
  it("is a query of the board's project, or of the one that it names", () => {
    const wanted = (projectId: number) => wantedRuns({ by: "query", query: "state:error", projectId }, "", 7, fields, around);
    expect(wanted(0)).toMatchObject({ wanted: { projectId: 7, sort: "id=desc", filter: { showArchived: false } } });
    expect(wanted(3)).toMatchObject({ wanted: { projectId: 3 } });
  });

  it("are runs and experiments of any project by their ids", () => {
    const ids = wantedRuns({ by: "runs", ids: [4, 5] }, "", 7, fields, around);
    expect(ids).toMatchObject({ wanted: { projectId: 0, filter: { showArchived: true, filterGroup: { conjunction: "or", children: [{ value: 4 }, { value: 5 }] } } } });
    expect(wantedRuns({ by: "experiment", id: 9 }, "", 7, fields, around)).toMatchObject({
      wanted: { filter: { filterGroup: { children: [{ columnName: "experimentId", value: 9 }] } } },
    });
  });

  it("is refused with the reason where a query or a sort cannot be read", () => {
    const refused = (query: string, sort: string) => wantedRuns({ by: "query", query, projectId: 0 }, sort, 1, fields, around);
    expect(refused("stat:error", "")).toMatchObject({ reason: expect.stringMatching(/^query: stat:error .*Is it state\?/) });
    expect(refused("", "-los")).toMatchObject({ reason: expect.stringMatching(/^sort: “los” is no column/) });
  });
});

describe("a column", () => {
  it("of a metric is its last value unless a figure is named", () => {
    for (const name of ["validation.loss", "metric.loss", "validation.loss.last"])
      expect(columnOf(name, fields)).toMatchObject({ field: { column: "validation.loss.last" } });
  });

  it("sorts up, and down after a minus", () => {
    expect(wireSortOf("-validation.loss, run", fields)).toEqual({ sort: "validation.loss.last=desc,id=asc" });
  });

  it("with values only narrows what is read", () => {
    const found = columnOf("validation.loss", fields);
    if (!("field" in found)) throw new Error(found.reason);
    const base = { projectId: 1, sort: "", filter: { showArchived: false, filterGroup: { kind: "group" as const, conjunction: "and" as const, children: [] } } };
    expect(withValue(base, found.field).filter.filterGroup.children.at(-1)).toMatchObject({ columnName: "validation.loss.last", operator: "notEmpty" });
  });
});
