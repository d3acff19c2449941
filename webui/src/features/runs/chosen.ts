/** The things that a selection means, read from the master where they are not loaded. */
import type { FieldFilter, Filter } from "@/data/query/compile";
import type { Table } from "@/data/query/fields";
import type { PagedRows } from "@/ui/table/pagedRows";
import type { Selection } from "@/ui/table/types";

import type { Item } from "./item";
import { fetchItems } from "./source";

const PAGE = 1000;
/** The master reads at most 200 conditions of a filter. */
const IDS_A_FILTER = 150;

interface List {
  table: Table;
  projectId: number;
  filter: Filter;
  rows: PagedRows<Item>;
}

export async function chosenItems(selection: Selection, list: List): Promise<Item[]> {
  return selection.all ? allBut(selection, list) : named(selection, list);
}

async function named({ keys }: Selection, { table, projectId, rows }: List): Promise<Item[]> {
  const loaded = new Map([...rows.loaded()].map((item) => [item.id, item]));
  const found: Item[] = [];
  const missing: number[] = [];
  for (const key of keys) {
    const item = loaded.get(Number(key));
    if (item) found.push(item);
    else missing.push(Number(key));
  }
  for (let at = 0; at < missing.length; at += IDS_A_FILTER) {
    const children = anyOfIds(missing.slice(at, at + IDS_A_FILTER), table);
    const filter: Filter = { showArchived: true, filterGroup: { kind: "group", conjunction: "or", children } };
    found.push(...(await fetchItems({ table, projectId, filter, sort: "id=asc" }, 0, IDS_A_FILTER)).rows);
  }
  return found;
}

async function allBut({ keys }: Selection, { table, projectId, filter }: List): Promise<Item[]> {
  const found: Item[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const { rows, total } = await fetchItems({ table, projectId, filter, sort: "id=asc" }, offset, PAGE);
    found.push(...rows.filter((item) => !keys.has(item.id)));
    if (rows.length === 0 || offset + PAGE >= total) return found;
  }
}

/** Conditions that one of some ids holds for. */
export function anyOfIds(ids: readonly number[], table: Table): FieldFilter[] {
  return ids.map((value) => ({
    kind: "field",
    columnName: "id",
    location: table === "run" ? "LOCATION_TYPE_RUN" : "LOCATION_TYPE_EXPERIMENT",
    operator: "=",
    type: "COLUMN_TYPE_NUMBER",
    value,
  }));
}
