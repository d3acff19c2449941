/** The table over 100,000 made-up rows of 200 columns, for measurements without a master. */
import { useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { createMemoryRouter, RouterProvider } from "react-router";

import "@/ui/tokens.css";
import "@/ui/base.css";
import { formatNumber } from "@/data/format/numbers";
import type { TableState } from "@/data/view/tableState";
import { StateBadge } from "@/ui/state/StateBadge";
import { DataTable } from "@/ui/table/DataTable";
import { SelectionBar } from "@/ui/table/SelectionBar";
import { NOTHING } from "@/ui/table/selection";
import type { Column } from "@/ui/table/types";
import { usePagedRows } from "@/ui/table/usePagedRows";
import { defaultState } from "@/ui/table/useLayout";

const TOTAL = 100_000;
const METRICS = 196;
const STATES = ["ACTIVE", "COMPLETED", "ERROR", "PAUSED", "QUEUED", "CANCELED"];
const LATENCY_MS = Number(new URLSearchParams(location.search).get("latency") ?? 40);

interface FakeRun {
  id: number;
  name: string;
  state: string;
  values: number[];
}

function rowAt(index: number): FakeRun {
  const values = Array.from({ length: METRICS }, (_, m) => Math.abs(Math.sin(index * 31 + m * 7)));
  return { id: index + 1, name: `sweep-${index % 97} / run ${index}`, state: STATES[index % 6] ?? "", values };
}

async function page(offset: number, limit: number, signal: AbortSignal) {
  await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
  if (signal.aborted) throw new DOMException("aborted", "AbortError");
  const rows = Array.from({ length: Math.min(limit, TOTAL - offset) }, (_, at) => rowAt(offset + at));
  return { rows, total: TOTAL };
}

const keyOf = (row: FakeRun) => row.id;

const COLUMNS: Column<FakeRun>[] = [
  { id: "id", header: "ID", width: 80, align: "end", pin: true, sortable: true, render: (r) => r.id, value: keyOf },
  { id: "name", header: "Name", width: 220, pin: true, sortable: true, render: (r) => <a href={`#${r.id}`}>{r.name}</a> },
  { id: "state", header: "State", width: 130, render: (r) => <StateBadge state={r.state} />, value: (r) => r.state },
  ...Array.from({ length: METRICS }, (_, m): Column<FakeRun> => ({
    id: `validation.metric_${m}.last`,
    header: `validation.metric_${m}_of_a_long_name`,
    width: 120,
    align: "end",
    sortable: true,
    render: (r) => formatNumber(r.values[m]),
    value: (r) => r.values[m],
  })),
  { id: "tags", header: "Tags", type: "list", render: () => "base, long" },
];

function Harness() {
  const fallback = useMemo(() => defaultState(COLUMNS), []);
  const [state, setState] = useState<TableState>(fallback);
  const [selection, setSelection] = useState(NOTHING);
  const { rows } = usePagedRows("all", page, keyOf);
  Object.assign(window, { rows });
  return (
    <div style={{ display: "flex", flexDirection: "column", height: "100vh" }}>
      <h1>100,000 runs</h1>
      <DataTable
        label="Runs"
        fill
        columns={COLUMNS}
        source={rows}
        rowKey={keyOf}
        rowName={(r) => r.name}
        {...{ state, selection }}
        onState={setState}
        onSelection={setSelection}
        onPeek={() => undefined}
        rowMenu={(r) => [{ label: `Open ${r.name}` }]}
      />
      <SelectionBar selection={selection} onSelection={setSelection} total={rows.total} word="run" />
    </div>
  );
}

const router = createMemoryRouter([{ path: "*", element: <Harness /> }]);
createRoot(document.getElementById("root") as HTMLElement).render(<RouterProvider router={router} />);
