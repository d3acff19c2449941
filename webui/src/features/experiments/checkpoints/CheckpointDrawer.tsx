import { useState } from "react";
import { Link } from "react-router";

import { BASE_PATH } from "@/api/client";
import { batchesOf, sizeOf, useRegistrations, type Checkpoint } from "@/data/checkpoints";
import type { Experiment } from "@/data/experiments/queries";
import { formatBytes, wireNumber } from "@/data/format/numbers";
import { useRights } from "@/data/permissions/permissions";
import { modelPath } from "@/data/registry/models";
import { Button } from "@/ui/button/Button";
import { ButtonLink } from "@/ui/button/ButtonLink";
import { Facts, PlainTable } from "@/ui/layout/Card";
import { Dialog } from "@/ui/overlay/Dialog";
import { StateBadge } from "@/ui/state/StateBadge";
import { CopyButton } from "@/ui/text/Copy";
import { Num } from "@/ui/text/Num";
import { Time } from "@/ui/text/Time";

import { mayStart } from "../startMenu";
import { RegisterDialog } from "./RegisterDialog";

export function CheckpointDrawer({
  checkpoint,
  experiment,
  onClose,
}: {
  checkpoint: Checkpoint;
  experiment: Experiment;
  onClose(): void;
}) {
  const [registers, setRegisters] = useState(false);
  const rights = useRights();
  const files = Object.entries(checkpoint.resources ?? {}).sort(([a], [b]) => a.localeCompare(b));
  const deleted = checkpoint.state?.includes("DELETED");
  const uuid = checkpoint.uuid ?? "";
  return (
    <Dialog
      open
      kind="drawer"
      width={640}
      onClose={onClose}
      title={<>Checkpoint {uuid.slice(0, 8)}</>}
      footer={
        <>
          <a href={`${BASE_PATH}/checkpoints/${uuid}`} download hidden={deleted}>
            Download (tar)
          </a>
          {mayStart(experiment, rights) && !deleted && !experiment.unmanaged && checkpoint.training?.trialId && (
            <ButtonLink
              icon="fork"
              to={`/experiments/${experiment.id}/trials/${checkpoint.training.trialId}/overview?dialog=branch&from=${uuid}`}
            >
              Continue from here
            </ButtonLink>
          )}
          <Button
            look="primary"
            icon="box"
            disabledReason={deleted ? "Its files are deleted." : undefined}
            onClick={() => setRegisters(true)}
          >
            Register as a model version
          </Button>
        </>
      }
    >
      <div className="stack" style={{ gap: 20 }}>
        <Facts
          facts={[
            ["UUID", <span key="uuid" className="row"><span className="mono">{uuid}</span><CopyButton text={uuid} label="Copy the UUID" /></span>],
            ["State", <StateBadge key="state" state={checkpoint.state} plain />],
            ["Experiment", <Link key="experiment" to={`/experiments/${experiment.id}`}>{experiment.id}</Link>],
            ["Trial", <Link key="trial" to={`/trials/${checkpoint.training?.trialId}`}>{checkpoint.training?.trialId}</Link>],
            ["Batches", <Num key="batches" value={batchesOf(checkpoint)} />],
            [experiment.searcherMetric ?? "Metric", <Num key="metric" value={wireNumber(checkpoint.training?.searcherMetric)} />],
            ["Stored", <Time key="time" at={checkpoint.reportTime} />],
            ["Size", formatBytes(sizeOf(checkpoint))],
            ["Registered as", <Versions key="versions" uuid={uuid} />],
            ["Download", <code key="cli">det checkpoint download {uuid}</code>],
          ]}
        />
        <section>
          <h3>Files</h3>
          <PlainTable label="Files of the checkpoint" columns={["Path", "Size"]}>
            {files.map(([path, size]) => (
              <tr key={path}>
                <td className="mono">{path}</td>
                <td className="number">{formatBytes(size)}</td>
              </tr>
            ))}
          </PlainTable>
        </section>
        <section>
          <h3>Metadata</h3>
          <pre style={{ overflow: "auto" }}>{JSON.stringify(checkpoint.metadata ?? {}, null, 2)}</pre>
        </section>
      </div>
      {registers && <RegisterDialog uuid={uuid} onClose={() => setRegisters(false)} />}
    </Dialog>
  );
}

/** Links to the versions of models that the checkpoint is. */
function Versions({ uuid }: { uuid: string }) {
  const { data = [] } = useRegistrations(uuid);
  if (data.length === 0) return <span className="muted">No model version</span>;
  return (
    <span className="row" style={{ flexWrap: "wrap" }}>
      {data.map(({ modelId, modelName, version, name }) => (
        <Link key={`${modelId} ${version}`} to={`${modelPath(modelName)}/versions/${version}`}>
          {modelName} v{version}
          {name && ` (${name})`}
        </Link>
      ))}
    </span>
  );
}
