/** A list as a CSV file: all rows that match its query, with the columns that it shows. */
import { csvOf, type CsvValue } from "@/data/format/csv";

import { valueOf, type Item } from "./item";
import { fetchItems, type Wanted } from "./source";

const PAGE = 1000;

interface Shown {
  columns: readonly { id: string; header: string }[];
  userName(id: number | undefined): string;
}

export async function listCsv(list: Wanted, shown: Shown): Promise<string> {
  const items: Item[] = [];
  for (;;) {
    const { rows, total } = await fetchItems(list, items.length, PAGE);
    items.push(...rows);
    if (rows.length === 0 || items.length >= total) return csvRows(items, shown);
  }
}

export function csvRows(items: readonly Item[], { columns, userName }: Shown): string {
  const cell = (item: Item, id: string): CsvValue => {
    if (id === "user") return userName(item.userId);
    if (id === "experimentName") return item.name;
    const value = id === "duration" ? seconds(item) : valueOf(item, id);
    return typeof value === "boolean" ? String(value) : value;
  };
  return csvOf(
    columns.map(({ header }) => header),
    items.map((item) => columns.map(({ id }) => cell(item, id))),
  );
}

/** Of a row that has ended; another one has no duration yet. */
function seconds({ startTime, endTime }: Item): number | undefined {
  return startTime && endTime ? (Date.parse(endTime) - Date.parse(startTime)) / 1000 : undefined;
}
