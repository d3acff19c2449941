/** Groups from the master, or, where it lacks the route, made here of the runs themselves. */
import { request } from "@/api/client";
import { ApiError } from "@/api/errors";
import { wireNumber } from "@/data/format/numbers";

import { fetchItems, type Wanted } from "../source";
import { groupItems, keyOf, type Groups } from "./figures";

interface WireFigures {
  column: string;
  n: number;
  mean: unknown;
  std: unknown;
  min: unknown;
  max: unknown;
}

interface WireGroups {
  groups: { text: string | null; number: unknown; runs: number; figures: WireFigures[] }[];
  total: number;
  runs: number;
}

const PAGE = 1000;
/** Runs that are grouped in the browser. */
export const MAX_HERE = 5000;

let missing = false;

export async function readGroups(
  wanted: Wanted,
  by: string,
  columns: readonly string[],
  userName: (id: number | undefined) => string,
  signal: AbortSignal,
): Promise<Groups> {
  if (!missing) {
    try {
      const body = { projectId: wanted.projectId, filter: JSON.stringify(wanted.filter), by, columns };
      return fromWire(await request<WireGroups>("POST", "/api/ui/v1/runs/groups", { body, signal }));
    } catch (error) {
      if (!(error instanceof ApiError) || ![404, 405, 501].includes(error.status)) throw error;
      missing = true;
    }
  }
  return groupItems(await firstRuns(wanted, signal), by, columns, userName);
}

export function fromWire({ groups, total, runs }: WireGroups): Groups {
  return {
    total,
    runs,
    groups: groups.map(({ text, number, runs: count, figures }) => {
      const value = text ?? wireNumber(number);
      return {
        key: keyOf(value),
        value,
        runs: count,
        figures: new Map(
          figures.map((each) => [
            each.column,
            {
              n: each.n,
              mean: wireNumber(each.mean) ?? NaN,
              std: wireNumber(each.std),
              min: wireNumber(each.min) ?? NaN,
              max: wireNumber(each.max) ?? NaN,
            },
          ]),
        ),
      };
    }),
  };
}

async function firstRuns(wanted: Wanted, signal: AbortSignal) {
  const items = [];
  for (let offset = 0; offset < MAX_HERE; offset += PAGE) {
    const { rows, total } = await fetchItems(wanted, offset, PAGE, signal);
    items.push(...rows);
    if (rows.length === 0 || offset + PAGE >= total) break;
  }
  return items;
}
