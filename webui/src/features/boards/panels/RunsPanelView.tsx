import { useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";

import { plural } from "@/data/format/numbers";
import { useUserName } from "@/data/workspaces";
import { EMPTY_STATE, type TableState } from "@/data/view/tableState";
import { columnsOf, linkOf } from "@/features/runs/columns";
import type { Item } from "@/features/runs/item";
import { DataTable } from "@/ui/table/DataTable";

import { PanelFrame, PanelState } from "./PanelFrame";
import type { RunsPanel, Source } from "./types";
import { useFields, usePanelRuns, useWanted } from "./useRuns";
import { columnOf } from "./wanted";

const DEFAULTS = ["id", "experimentName", "state", "searcherMetricsVal", "startTime", "duration", "user"];
const keyOf = (item: Item) => item.id;
const nameOf = (item: Item) => `${item.id} ${item.name}`;

export function RunsPanelView({ panel, projectId }: { panel: RunsPanel; projectId: number }) {
  const navigate = useNavigate();
  const userName = useUserName();
  const { fields, known, error, isPending, refetch } = useFields(panel.source, projectId);
  const wanted = useWanted(panel.source, panel.sort, projectId, fields);
  const asked = "wanted" in wanted && !isPending ? wanted.wanted : undefined;
  const query = usePanelRuns(asked, panel.limit);
  const chosen = useMemo(() => {
    const found = (panel.columns.length ? panel.columns : DEFAULTS).map((name) => columnOf(name, fields));
    const wrong = panel.columns.length ? found.find((each) => "reason" in each) : undefined;
    return {
      ids: [...new Set(found.flatMap((each) => ("field" in each ? [each.field.column] : [])))],
      reason: wrong && "reason" in wrong ? `columns: ${wrong.reason}` : undefined,
    };
  }, [panel.columns, fields]);
  const columns = useMemo(() => columnsOf("run", known, { userName }), [known, userName]);
  const [changed, setChanged] = useState<{ of: string; state: TableState }>();
  const of = chosen.ids.join();
  const first = useMemo<TableState>(() => ({ ...EMPTY_STATE, columns: chosen.ids }), [chosen.ids]);
  const state = changed?.of === of ? changed.state : first;
  const reason = isPending ? undefined : "reason" in wanted ? wanted.reason : chosen.reason;
  const data = query.data;
  const isCut = data !== undefined && data.total > data.rows.length;
  return (
    <PanelFrame
      title={panel.title || "Trials"}
      flush={Boolean(data && !reason)}
      end={
        data && (
          <>
            <span>{isCut ? `${data.rows.length} of ${data.total.toLocaleString("en")} trials` : plural(data.total, "trial")}</span>
            <ListLink source={panel.source} projectId={projectId} />
          </>
        )
      }
    >
      {data && !reason ? (
        <DataTable
          label={panel.title || "Trials"}
          rows={data.rows}
          rowKey={keyOf}
          rowName={nameOf}
          columns={columns}
          state={state}
          onState={(next) => setChanged({ of, state: next })}
          onOpen={(item) => void navigate(linkOf(item, "run"))}
          fit={12}
          empty={<p className="muted" style={{ padding: "12px 16px" }}>No trial matches.</p>}
        />
      ) : (
        <PanelState reason={reason} error={error ?? query.error} onRetry={() => void (error ? refetch() : query.refetch())} />
      )}
    </PanelFrame>
  );
}

/** The list that has all of them. */
function ListLink({ source, projectId }: { source: Source; projectId: number }) {
  if (source.by === "runs") return <Link to={`/compare?runs=${source.ids.join(",")}`}>Compare</Link>;
  if (source.by === "experiment") return <Link to={`/searches/${source.id}/runs`}>All trials</Link>;
  const search = source.query ? `?q=${encodeURIComponent(source.query)}` : "";
  return <Link to={`/projects/${source.projectId || projectId}/runs${search}`}>All trials</Link>;
}
