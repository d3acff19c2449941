import { useMemo } from "react";
import { useSearchParams } from "react-router";

import { useComparedRuns, useRunsOf, type ComparedRun } from "@/data/experiments/compared";
import { plural } from "@/data/format/numbers";
import { MetricGrid } from "@/features/metrics/MetricGrid";
import { Empty, ErrorNotice, Loading } from "@/ui/feedback/Feedback";
import { Segments } from "@/ui/field/Field";
import { Page } from "@/ui/layout/Page";

import { CodeDiff } from "./CodeDiff";
import { ConfigDiff } from "./ConfigDiff";
import { DetailsTable } from "./DetailsTable";
import { idsOf, MAX_RUNS } from "./ids";

const TABS = [
  { value: "metrics", label: "Metrics" },
  { value: "details", label: "Details" },
  { value: "configuration", label: "Configuration" },
  { value: "code", label: "Code" },
] as const;

type Tab = (typeof TABS)[number]["value"];

/** `/compare?runs=1,2`: metrics over each other, facts side by side, configurations and code as diffs. */
export default function ComparePage() {
  const [params, setParams] = useSearchParams();
  const text = params.get("runs");
  const searches = params.get("experiments");
  const named = useMemo(() => idsOf(text), [text]);
  const experiments = useMemo(() => idsOf(searches), [searches]);
  const found = useRunsOf(experiments);
  const all = [...new Set([...named, ...found.ids])];
  const ids = all.slice(0, MAX_RUNS);
  const tab = (params.get("tab") ?? "metrics") as Tab;
  const { runs, isPending, error } = useComparedRuns(ids, { brief: tab === "metrics" });
  const choose = (value: Tab) => {
    const next = new URLSearchParams(params);
    next.set("tab", value);
    setParams(next, { replace: true });
  };
  const refused = error ?? found.error;
  return (
    <Page name={found.isPending ? "Compare" : `Compare ${plural(ids.length, "trial")}`}>
      <div className="stack" style={{ gap: 16 }}>
        {ids.length === 0 && !found.isPending && !refused ? (
          <Empty title="No trials are chosen">
            Select trials in the list of a project, then choose Compare.
          </Empty>
        ) : (
          <>
            <div className="row">
              <Segments label="What to compare" value={tab} options={TABS} onValue={choose} />
              {all.length > ids.length && (
                <span className="hint">The first {MAX_RUNS} of {all.length} trials are compared.</span>
              )}
            </div>
            {refused ? <ErrorNotice error={refused} /> : null}
            {found.isPending || (isPending && runs.length === 0) ? <Loading what="the trials" /> : <View tab={tab} runs={runs} />}
          </>
        )}
      </div>
    </Page>
  );
}

function View({ tab, runs }: { tab: Tab; runs: ComparedRun[] }) {
  const trials = useMemo(() => runs.map((each) => each.trial), [runs]);
  if (tab === "details") return <DetailsTable runs={runs} />;
  if (tab === "configuration") return <ConfigDiff runs={runs} />;
  if (tab === "code") return <CodeDiff runs={runs} />;
  return <MetricGrid trials={trials} searcherMetric={runs[0]?.experiment.searcherMetric} />;
}
