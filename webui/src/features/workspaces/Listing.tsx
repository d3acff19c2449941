import type { ReactNode } from "react";

import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { useSession } from "@/data/session";
import { Checkbox, Segments, Select } from "@/ui/field/Field";
import { SearchField } from "@/ui/field/SearchField";
import { Toolbar } from "@/ui/layout/Toolbar";

import type { Filter, Owner, SortOption } from "./filter";
import styles from "./Workspaces.module.css";

/** Workspaces or projects as cards or as a list; the filters are in the address. */
export function Listing<Row, Sort extends string>({
  noun,
  rows,
  select,
  sorts,
  card,
  list,
  empty,
  action,
}: {
  noun: string;
  rows: Row[];
  select(rows: Row[], filter: Filter<Sort>): Row[];
  sorts: SortOption<Sort>[];
  card(row: Row): ReactNode;
  list(rows: Row[]): ReactNode;
  empty: ReactNode;
  action?: ReactNode;
}) {
  const { user } = useSession();
  const [view, setView] = useParam<"cards" | "list">("view", "cards");
  const [owner, setOwner] = useParam<Owner>("owner", "all");
  const [sort, setSort] = useParam<Sort>("sort", "name" as Sort);
  const [archived, setArchived] = useParam("archived", "");
  const [text, setText] = useParam("q", "");
  const selection = select(rows, { owner, me: user?.id, archived: archived === "1", text, sort });
  const cards =
    selection.length === 0 ? empty : <ul className={styles.grid}>{selection.map(card)}</ul>;
  return (
    <>
      <Toolbar
        end={
          <>
            {plural(selection.length, noun)}
            <Segments
              label="View"
              value={view}
              onValue={setView}
              options={[
                { value: "cards", label: "Cards" },
                { value: "list", label: "List" },
              ]}
            />
            {action}
          </>
        }
      >
        <SearchField label="Filter by name" value={text} onValue={setText} />
        <Segments
          label="Owner"
          value={owner}
          onValue={setOwner}
          options={[
            { value: "all", label: "All" },
            { value: "mine", label: "Mine" },
            { value: "others", label: "Others’" },
          ]}
        />
        <Checkbox label="Archived" checked={archived === "1"} onValue={(on) => setArchived(on ? "1" : "")} />
        {view === "cards" && (
          <Select label="Sort" hideLabel value={sort} onValue={(value) => setSort(value as Sort)} options={sorts} />
        )}
      </Toolbar>
      {view === "list" ? list(selection) : cards}
    </>
  );
}
