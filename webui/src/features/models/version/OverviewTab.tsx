import { Link } from "react-router";

import { BASE_PATH } from "@/api/client";
import { batchesOf, sizeOf } from "@/data/checkpoints";
import { flatten, shown } from "@/data/experiments/facts";
import { formatBytes, wireNumber } from "@/data/format/numbers";
import type { Version } from "@/data/registry/models";
import { useUserName } from "@/data/workspaces";
import { Card, Facts, type Fact } from "@/ui/layout/Card";
import { StateBadge } from "@/ui/state/StateBadge";
import { CopyButton } from "@/ui/text/Copy";
import { Num } from "@/ui/text/Num";
import { Time } from "@/ui/text/Time";

import styles from "../Models.module.css";
import { Tags } from "../Tags";
import { useVersionContext } from "./VersionPage";

export default function OverviewTab() {
  const { model, version } = useVersionContext();
  const training = version.checkpoint?.training;
  const metrics = Object.entries((training?.validationMetrics?.avgMetrics ?? {}) as Record<string, unknown>);
  const hparams = flatten(training?.hparams ?? {});
  return (
    <div className={styles.columns}>
      <div className="stack" style={{ gap: 16 }}>
        <Card title="Source">
          <Source version={version} />
        </Card>
        <Card title="Use it">
          <UseIt model={model.name ?? ""} version={version} />
        </Card>
      </div>
      <div className="stack" style={{ gap: 16 }}>
        <Card title="Validation metrics">
          {metrics.length > 0 ? (
            <Facts facts={metrics.map(([name, value]) => [name, <Num key={name} value={wireNumber(value)} />] as const)} />
          ) : (
            <p className="hint">The checkpoint has no validation.</p>
          )}
        </Card>
        <Card title="Hyperparameters">
          {hparams.length > 0 ? (
            <Facts facts={hparams.map(([name, value]) => [name, shown(value)] as const)} />
          ) : (
            <p className="hint">The trial has no hyperparameters.</p>
          )}
        </Card>
      </div>
    </div>
  );
}

function Source({ version }: { version: Version }) {
  const nameOf = useUserName();
  const { checkpoint } = version;
  const training = checkpoint?.training;
  const uuid = checkpoint?.uuid ?? "";
  const isDeleted = checkpoint !== undefined && !checkpoint.taskId;
  return (
    <Facts
      facts={[
        version.comment ? ["Description", version.comment] : undefined,
        ["Tags", <Tags key="tags" tags={version.labels} />],
        ["Registered", <span key="registered"><Time at={version.creationTime} /> by {nameOf(version.userId)}</span>],
        ...(training ? originOf(training, isDeleted) : []),
        ["Checkpoint", <span key="uuid" className="row">{isDeleted ? <code>{uuid}</code> : <Link className="mono" to={`/trials/${training?.trialId}/checkpoints`}>{uuid}</Link>}<CopyButton text={uuid} label="Copy the UUID" /></span>],
        ["State", <StateBadge key="state" state={checkpoint?.state} plain />],
        ["Batches", <Num key="batches" value={checkpoint && batchesOf(checkpoint)} />],
        ["Stored", <Time key="stored" at={checkpoint?.reportTime} />],
        ["Size", checkpoint ? formatBytes(sizeOf(checkpoint)) : "–"],
        ["Download", <a key="download" href={`${BASE_PATH}/checkpoints/${uuid}`} download>tar archive</a>],
      ]}
    />
  );
}

/** The experiment and the trial of a checkpoint; of deleted ones, only their names are left. */
function originOf(training: NonNullable<NonNullable<Version["checkpoint"]>["training"]>, isDeleted: boolean): Fact[] {
  const { experimentId, trialId } = training;
  const experiment = experimentName(training);
  if (isDeleted) return [["Experiment", `${experiment}, deleted`], ["Trial", `${trialId ?? "–"}, deleted`]];
  return [
    experimentId ? ["Experiment", <Link key="experiment" to={`/experiments/${experimentId}`}>{experiment}</Link>] : undefined,
    trialId ? ["Trial", <Link key="run" to={`/experiments/${experimentId}/trials/${trialId}/overview`}>{trialId}</Link>] : undefined,
  ];
}

function experimentName(training: { experimentId?: number; experimentConfig?: unknown }): string {
  const name = (training.experimentConfig as { name?: string } | undefined)?.name;
  return name ? `${name} (${training.experimentId})` : String(training.experimentId);
}

function UseIt({ model, version }: { model: string; version: Version }) {
  const command = `det checkpoint download ${version.checkpoint?.uuid ?? ""}`;
  return (
    <div className="stack">
      <Snippet label="Command line" text={command} />
      <Snippet label="Python" text={pythonOf(model, version.version ?? 0)} />
    </div>
  );
}

function pythonOf(model: string, version: number): string {
  return [
    "from determined.experimental import client",
    "",
    `model = client.get_model(${JSON.stringify(model)})`,
    `version = model.get_version(${version})`,
    "path = version.checkpoint.download()",
  ].join("\n");
}

function Snippet({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <div className={styles.snippetHead}>
        <h3>{label}</h3>
        <CopyButton text={text} label={`Copy the ${label === "Python" ? "Python code" : "command"}`} />
      </div>
      <pre className={styles.snippet} tabIndex={0}>
        {text}
      </pre>
    </div>
  );
}
