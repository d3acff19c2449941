/** The choice of the column that groups the list, and the baseline that it is compared with. */
import { useQuery } from "@tanstack/react-query";

import type { Field, Fields, Table } from "@/data/query/fields";
import { Button } from "@/ui/button/Button";
import { Select } from "@/ui/field/Field";

import { anyOfIds } from "../chosen";
import type { Item } from "../item";
import { fetchItems } from "../source";
import { groupingFields } from "./figures";
import styles from "./Groups.module.css";

const LABELS: Record<string, string> = {
  user: "User",
  tags: "Tags",
  state: "State",
  experimentName: "Name",
  experimentId: "Experiment",
  experimentDescription: "Description",
};

export function GroupSelect({ fields, value, onValue }: { fields: Fields; value: string; onValue(column: string): void }) {
  const options = groupingFields(fields).map((field) => ({ value: field.column, label: labelOf(field) }));
  if (value && !options.some((each) => each.value === value)) options.push({ value, label: value });
  return (
    <Select
      label="Group by"
      hideLabel
      className={styles.select}
      value={value}
      options={[{ value: "", label: "No groups" }, ...options.map((each) => ({ ...each, label: `By ${each.label}` }))]}
      onValue={onValue}
    />
  );
}

function labelOf({ column, label }: Field): string {
  return LABELS[column] ?? (/^(hp|metadata)\./.test(column) ? column : label);
}

/** The row that the others are compared with; `undefined` while it loads, `null` where it is gone. */
export function useBaseline(table: Table, projectId: number, id: string): Item | null | undefined {
  const number = Number(id);
  const isAsked = Number.isInteger(number) && number > 0;
  const query = useQuery({
    queryKey: ["projects", projectId, table === "run" ? "runs" : "searches", "baseline", number],
    queryFn: async ({ signal }) => {
      const filter = {
        showArchived: true,
        filterGroup: { kind: "group" as const, conjunction: "and" as const, children: anyOfIds([number], table) },
      };
      return (await fetchItems({ table, projectId, filter, sort: "id=asc" }, 0, 1, signal)).rows[0] ?? null;
    },
    enabled: isAsked,
    staleTime: 30_000,
  });
  return id === "" ? undefined : isAsked ? query.data : null;
}

export function BaselineChip({ id, item, word, onClear }: { id: string; item: Item | null | undefined; word: string; onClear(): void }) {
  if (!id) return null;
  return (
    <span className="row" style={{ gap: 4 }}>
      <span role="status">
        {item === null ? `The baseline, ${word} ${id}, is not in this project.` : `Differences to ${word} ${id}`}
      </span>
      <Button small look="quiet" icon="close" aria-label="Clear the baseline" onClick={onClear}>
        Clear
      </Button>
    </span>
  );
}
