import { useMemo, useState } from "react";

import { plural } from "@/data/format/numbers";
import { isFinished } from "@/data/states";
import { MetricChart } from "@/features/metrics/MetricChart";
import { InView } from "@/ui/chart/InView";
import { ChartSyncProvider } from "@/ui/chart/sync";
import type { Range } from "@/ui/chart/types";

import { PanelFrame, PanelState } from "./PanelFrame";
import type { ChartPanel } from "./types";
import { useFields, usePanelRuns, useWanted } from "./useRuns";

/** Head and legend around the plot. */
const AROUND = 80;

export function ChartPanelView({ panel, projectId }: { panel: ChartPanel; projectId: number }) {
  const { fields, error, isPending, refetch } = useFields(panel.source, projectId);
  const wanted = useWanted(panel.source, panel.sort, projectId, fields);
  const asked = "wanted" in wanted && !isPending ? wanted.wanted : undefined;
  const query = usePanelRuns(asked, panel.source.by === "runs" ? panel.source.ids.length : panel.limit);
  const rows = query.data?.rows;
  const idText = (rows ?? []).map((run) => run.id).join();
  const liveText = (rows ?? []).filter((run) => !isFinished(run.state)).map((run) => run.id).join();
  const ids = useMemo(() => idText.split(",").filter(Boolean).map(Number), [idText]);
  const liveIds = useMemo(() => liveText.split(",").filter(Boolean).map(Number), [liveText]);
  const metric = useMemo(() => ({ group: panel.group, name: panel.name }), [panel.group, panel.name]);
  const [range, setRange] = useState<Range>();
  const title = panel.title || `${panel.group}.${panel.name}`;
  if (!rows || ids.length === 0)
    return (
      <PanelFrame title={title}>
        <div style={{ minHeight: panel.height + AROUND - 60 }}>
          {rows ? (
            <p className="muted">No trial matches.</p>
          ) : (
            <PanelState
              reason={!isPending && "reason" in wanted ? wanted.reason : undefined}
              error={error ?? query.error}
              onRetry={() => void (error ? refetch() : query.refetch())}
              rows={4}
            />
          )}
        </div>
      </PanelFrame>
    );
  return (
    <ChartSyncProvider axis={panel.x} range={range} onRange={setRange}>
      <InView height={panel.height + AROUND}>
        {() => (
          <MetricChart
            metric={metric}
            title={title}
            trialIds={ids}
            liveIds={liveIds}
            x={panel.x}
            range={range}
            height={panel.height}
            empty={`${plural(ids.length, "trial")}, none of which has reported ${panel.group}.${panel.name}.`}
            menu={[{ label: "Compare these trials", icon: "external", to: `/compare?runs=${ids.join(",")}` }]}
          />
        )}
      </InView>
    </ChartSyncProvider>
  );
}
