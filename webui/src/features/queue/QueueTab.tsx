import { useState } from "react";
import { Link, useOutletContext } from "react-router";

import { jobPlace, useQueue, type Job } from "@/data/cluster/queries";
import { useRights } from "@/data/permissions/permissions";
import { plural } from "@/data/format/numbers";
import { useMaster } from "@/data/master";
import { IconButton } from "@/ui/button/Button";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Card } from "@/ui/layout/Card";
import { Dialog } from "@/ui/overlay/Dialog";
import { Menu } from "@/ui/overlay/Menu";
import { StateBadge } from "@/ui/state/StateBadge";
import { Time } from "@/ui/text/Time";
import { WhyView } from "@/features/experiments/WhyView";

import { JobDialog } from "./JobDialog";
import type { PoolContext } from "./PoolPage";
import styles from "./QueueTab.module.css";
import { mayChange, mayKill } from "./rights";
import { useJobActs } from "./useJobActs";

const MAX_ROWS = 500;

/** Jobs in the order in which the scheduler looks at them. Drag, or use the menu, to change it. */
export default function QueueTab() {
  const { pool } = useOutletContext<PoolContext>();
  const query = useQueue(pool.name ?? "");
  return (
    <QueryView query={query} what="the queue">
      {({ jobs, total }) =>
        jobs.length === 0 ? (
          <Empty title="Nothing runs or waits here">Jobs of the pool appear here when they are submitted.</Empty>
        ) : (
          <div className="stack">
            <span className="muted">
              {plural(total, "job")}
              {total > MAX_ROWS && `, the first ${MAX_ROWS} are shown`}
            </span>
            <QueueTable jobs={jobs.slice(0, MAX_ROWS)} />
          </div>
        )
      }
    </QueryView>
  );
}

function QueueTable({ jobs }: { jobs: Job[] }) {
  const { pool } = useOutletContext<PoolContext>();
  const acts = useJobActs(pool.name ?? "");
  const rights = useRights();
  const { strictJobQueueControl = false } = useMaster();
  const changeable = new Set(jobs.filter((job) => mayChange(rights, job, strictJobQueueControl)));
  const [dragged, setDragged] = useState<string>();
  const [over, setOver] = useState<string>();
  const [why, setWhy] = useState<Job>();
  const [managed, setManaged] = useState<Job>();
  const byWeight = pool.schedulerType === "SCHEDULER_TYPE_FAIR_SHARE";
  return (
    <Card flush>
      <div style={{ position: "relative", overflowX: "auto" }} role="region" aria-label="Queue" tabIndex={0}>
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col"><span className="visually-hidden">Order</span></th>
              <th scope="col">Job</th>
              <th scope="col">Kind</th>
              <th scope="col">State</th>
              <th scope="col">Slots</th>
              <th scope="col">{byWeight ? "Weight" : "Priority"}</th>
              <th scope="col">User</th>
              <th scope="col">Submitted</th>
              <th scope="col"><span className="visually-hidden">Actions</span></th>
            </tr>
          </thead>
          <tbody>
            {jobs.map((job, index) => (
              <tr
                key={job.jobId}
                data-over={over === job.jobId && dragged !== undefined}
                onDragOver={(event) => {
                  if (!dragged) return;
                  event.preventDefault();
                  setOver(job.jobId);
                }}
                onDrop={() => {
                  if (dragged && dragged !== job.jobId) void acts.moveAhead(dragged, job);
                  setDragged(undefined);
                  setOver(undefined);
                }}
              >
                <td>
                  {changeable.has(job) && (
                    <span
                      className={styles.grip}
                      draggable
                      aria-hidden="true"
                      onDragStart={() => setDragged(job.jobId)}
                      onDragEnd={() => setDragged(undefined)}
                    >
                      ⠿
                    </span>
                  )}
                  <span className="number">{index + 1}</span>
                </td>
                <td>
                  <Link to={jobPlace(job).to}>{job.name || job.jobId}</Link>
                </td>
                <td>{jobPlace(job).kind}</td>
                <td>
                  <StateBadge state={job.summary?.state === "STATE_SCHEDULED" ? "RUNNING" : job.summary?.state} plain />
                </td>
                <td className="number">
                  {job.allocatedSlots} / {job.requestedSlots}
                </td>
                <td className="number">{byWeight ? job.weight : job.priority}</td>
                <td>{job.username}</td>
                <td>
                  <Time at={job.submissionTime} />
                </td>
                <td>
                  <Menu
                    trigger={<IconButton icon="more" label={`Actions for ${job.name}`} small />}
                    items={[
                      { label: "Why does it wait?", icon: "info", onSelect: () => setWhy(job) },
                      changeable.has(job) && { label: byWeight ? "Weight and pool …" : "Priority and pool …", icon: "settings", onSelect: () => setManaged(job) },
                      "separator",
                      changeable.has(job) && index > 0 && { label: "Move to the top", icon: "sort", onSelect: () => void acts.moveAhead(job.jobId ?? "", jobs[0]) },
                      changeable.has(job) && index > 0 && { label: "Move up", icon: "sort", onSelect: () => void acts.moveAhead(job.jobId ?? "", jobs[index - 1]) },
                      changeable.has(job) && index < jobs.length - 1 && { label: "Move down", icon: "sort", onSelect: () => void acts.moveBehind(job.jobId ?? "", jobs[index + 1]) },
                      mayKill(rights, job) && "separator",
                      mayKill(rights, job) && { label: "Kill", icon: "close", danger: true, onSelect: () => void acts.kill(job) },
                    ]}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {why && (
        <Dialog open onClose={() => setWhy(undefined)} title={`Why ${why.name} waits`} width={760}>
          <WhyView jobId={why.jobId} />
        </Dialog>
      )}
      {managed && <JobDialog job={managed} pool={pool} onClose={() => setManaged(undefined)} />}
    </Card>
  );
}
