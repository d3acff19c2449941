import { useState } from "react";
import { useSearchParams } from "react-router";

import { batchesOf, sizeOf, useCheckpoints, type Checkpoint } from "@/data/checkpoints";
import { wireNumber, formatBytes, plural } from "@/data/format/numbers";
import { useRights } from "@/data/permissions/permissions";
import { Button } from "@/ui/button/Button";
import { Checkbox } from "@/ui/field/Field";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { ActsHead, Card, PlainTable } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";
import { Num } from "@/ui/text/Num";
import { Time } from "@/ui/text/Time";

import { CheckpointDrawer } from "../checkpoints/CheckpointDrawer";
import { useDeletion } from "../checkpoints/useDeletion";
import { useExperimentContext } from "../context";

/** Rows are drawn so many at a time: hundreds of them with their menus would stall the page. */
const DRAWN = 100;

/** Checkpoints with their files; deleted ones only on request. */
export default function CheckpointsTab() {
  const { experiment, trial } = useExperimentContext();
  const query = useCheckpoints(trial ? "trial" : "experiment", (trial ?? experiment).id ?? 0);
  const [params, setParams] = useSearchParams();
  const [drawn, setDrawn] = useState(DRAWN);
  const withDeleted = params.get("deleted") === "1";
  const change = (name: string, value: string | undefined) => {
    const next = new URLSearchParams(params);
    if (value) next.set(name, value);
    else next.delete(name);
    setParams(next);
  };
  const deletion = useDeletion();
  const mayDelete = useRights().may("PERMISSION_TYPE_UPDATE_EXPERIMENT", experiment.workspaceId);
  return (
    <QueryView query={query} what="the checkpoints">
      {(all) => {
        const live = all.filter((each) => !each.state?.includes("DELETED"));
        const shown = withDeleted ? all : live;
        const opened = all.find((each) => each.uuid === params.get("checkpoint"));
        if (all.length === 0)
          return (
            <Empty title="No checkpoints yet" command={`det experiment list-checkpoints ${experiment.id}`}>
              A checkpoint appears here when the training code stores one.
            </Empty>
          );
        return (
          <div className="stack">
            <div className="row">
              <span className="muted">
                {plural(live.length, "checkpoint")}, {formatBytes(live.reduce((sum, each) => sum + sizeOf(each), 0))}
              </span>
              <Checkbox
                label={`Show deleted ones (${all.length - live.length})`}
                checked={withDeleted}
                onValue={(on) => change("deleted", on ? "1" : undefined)}
              />
            </div>
            <Card flush>
              <PlainTable
                label="Checkpoints"
                columns={["Checkpoint", "State", "Trial", "Batches", experiment.searcherMetric ?? "Metric", "Size", "Stored", <ActsHead key="acts" />]}
              >
                {shown.slice(0, drawn).map((checkpoint) => (
                  <Row
                    key={checkpoint.uuid}
                    checkpoint={checkpoint}
                    onOpen={() => change("checkpoint", checkpoint.uuid)}
                    onDelete={mayDelete ? () => void deletion(experiment, [checkpoint]) : undefined}
                  />
                ))}
              </PlainTable>
            </Card>
            {shown.length > drawn && (
              <div className="row">
                <Button onClick={() => setDrawn(drawn + DRAWN)}>
                  Show {Math.min(DRAWN, shown.length - drawn)} more of {shown.length}
                </Button>
              </div>
            )}
            {opened && (
              <CheckpointDrawer
                checkpoint={opened}
                experiment={experiment}
                onClose={() => change("checkpoint", undefined)}
              />
            )}
          </div>
        );
      }}
    </QueryView>
  );
}

function Row({
  checkpoint,
  onOpen,
  onDelete,
}: {
  checkpoint: Checkpoint;
  onOpen(): void;
  onDelete: (() => void) | undefined;
}) {
  const deleted = checkpoint.state?.includes("DELETED");
  return (
    <tr>
      <td>
        <Button look="quiet" small onClick={onOpen}>
          <span className="mono">{checkpoint.uuid?.slice(0, 8)}</span>
        </Button>
      </td>
      <td>
        <StateBadge state={checkpoint.state} plain />
      </td>
      <td className="number">{checkpoint.training?.trialId}</td>
      <td>
        <Num value={batchesOf(checkpoint)} />
      </td>
      <td>
        <Num value={wireNumber(checkpoint.training?.searcherMetric)} />
      </td>
      <td className="number">{formatBytes(sizeOf(checkpoint))}</td>
      <td>
        <Time at={checkpoint.reportTime} />
      </td>
      <td>
        {onDelete && (
          <Button
            look="quiet"
            small
            icon="trash"
            aria-label={`Delete checkpoint ${checkpoint.uuid}`}
            disabledReason={deleted ? "Its files are deleted." : undefined}
            onClick={onDelete}
          />
        )}
      </td>
    </tr>
  );
}
