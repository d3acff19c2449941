import { useState } from "react";
import { Link, useNavigate } from "react-router";

import type { ListedJob } from "@/data/cluster/jobs";
import type { Job } from "@/data/cluster/queries";
import { useRights } from "@/data/permissions/permissions";
import { WhyView } from "@/features/experiments/WhyView";
import { Dialog } from "@/ui/overlay/Dialog";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { StateBadge } from "@/ui/state/StateBadge";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";
import { Time } from "@/ui/text/Time";

import { mayKill } from "./rights";
import { useJobActs } from "./useJobActs";

const keyOf = (job: ListedJob) => job.jobId;
const nameOf = (job: ListedJob) => job.name;

/** The jobs by pool in the order of its queue, until one sorts them. */
export function JobsTable({ jobs }: { jobs: ListedJob[] }) {
  const navigate = useNavigate();
  const rights = useRights();
  const acts = useJobActs("");
  const [why, setWhy] = useState<ListedJob>();
  const menuOf = (job: ListedJob): MenuEntry[] => [
    job.state === "QUEUED" && { label: "Why does it wait?", icon: "info", onSelect: () => setWhy(job) },
    { label: `Queue of pool ${job.resourcePool}`, icon: "sort", to: queueOf(job) },
    mayKill(rights, asJob(job)) && "separator",
    mayKill(rights, asJob(job)) && { label: "Kill", icon: "close", danger: true, onSelect: () => void acts.kill(asJob(job)) },
  ];
  return (
    <>
      <DataTable
        label="Jobs"
        rows={jobs}
        rowKey={keyOf}
        rowName={nameOf}
        columns={COLUMNS}
        rowMenu={menuOf}
        onOpen={(job) => void navigate(placeOf(job))}
      />
      {why && (
        <Dialog open onClose={() => setWhy(undefined)} title={`Why ${why.name} waits`} width={760}>
          <WhyView jobId={why.jobId} />
        </Dialog>
      )}
    </>
  );
}

const COLUMNS: Column<ListedJob>[] = [
  {
    id: "name",
    header: "Name",
    width: 130,
    grow: true,
    sortable: true,
    value: (job) => job.name,
    render: (job) => (
      <Link to={placeOf(job)}>
        <bdi>{job.name || job.id}</bdi>
      </Link>
    ),
  },
  { id: "kind", header: "Kind", width: 104, sortable: true, value: (job) => job.kind, render: (job) => job.kind },
  {
    id: "state",
    header: "State",
    width: 96,
    type: "state",
    sortable: true,
    value: stateOf,
    render: (job) => <StateBadge state={stateOf(job)} plain />,
  },
  {
    id: "reason",
    header: "Waits for",
    width: 174,
    grow: true,
    value: (job) => job.reason,
    render: (job) => <span title={job.reason}>{job.reason || <span className="muted">–</span>}</span>,
  },
  {
    id: "place",
    header: "Place",
    width: 64,
    type: "number",
    align: "end",
    sortable: true,
    value: (job) => (job.jobsAhead < 0 ? undefined : job.jobsAhead + 1),
    render: (job) => (job.jobsAhead < 0 ? <span className="muted">–</span> : job.jobsAhead + 1),
  },
  {
    id: "slots",
    header: "Slots",
    width: 60,
    align: "end",
    sortable: true,
    value: (job) => job.requestedSlots,
    render: (job) => `${job.allocatedSlots} / ${job.requestedSlots}`,
  },
  { id: "priority", header: "Priority", width: 68, type: "number", align: "end", sortable: true, value: (job) => job.priority, render: (job) => job.priority },
  {
    id: "pool",
    header: "Pool",
    width: 84,
    sortable: true,
    value: (job) => job.resourcePool,
    render: (job) => <Link to={queueOf(job)}>{job.resourcePool}</Link>,
  },
  { id: "user", header: "User", width: 84, sortable: true, value: (job) => job.username, render: (job) => <bdi>{job.username}</bdi> },
  {
    id: "submitted",
    header: "Submitted",
    width: 100,
    type: "date",
    sortable: true,
    value: (job) => job.submittedAt ?? "",
    render: (job) => <Time at={job.submittedAt ?? undefined} />,
  },
];

function stateOf({ state }: ListedJob): string {
  return state === "SCHEDULED" ? "RUNNING" : state;
}

function placeOf({ kind, id }: ListedJob): string {
  return kind === "experiment" ? `/experiments/${id}` : `/${kind}/${id}/logs`;
}

function queueOf({ resourcePool }: ListedJob): string {
  return `/resourcepool/${encodeURIComponent(resourcePool)}/queue`;
}

/** As the lists of one pool have it. */
function asJob(job: ListedJob): Job {
  return { jobId: job.jobId, name: job.name, entityId: job.id, workspaceId: job.workspaceId, type: `TYPE_${job.kind.toUpperCase()}` } as Job;
}
