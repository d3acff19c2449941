import { useState } from "react";

import { controlJob } from "@/data/cluster/acts";
import { usePools, type Job, type Pool } from "@/data/cluster/queries";
import { keys } from "@/data/keys";
import { Select, TextField } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { FormDialog } from "@/ui/overlay/FormDialog";

/** Priority (1 to 99, small first) or fair-share weight, and the pool of an experiment. */
export function JobDialog({ job, pool, onClose }: { job: Job; pool: Pool; onClose(): void }) {
  const byWeight = pool.schedulerType === "SCHEDULER_TYPE_FAIR_SHARE";
  const [rank, setRank] = useState(String(byWeight ? job.weight : job.priority));
  const [target, setTarget] = useState(pool.name ?? "");
  const pools = usePools().data ?? [];
  const value = Number(rank);
  const wrong = byWeight
    ? !(value > 0)
    : !(Number.isInteger(value) && value >= 1 && value <= 99);
  const refusal = byWeight ? "A weight is above 0." : "A priority is a whole number from 1 to 99.";
  const save = async () => {
    const jobId = job.jobId ?? "";
    if (target !== pool.name) await controlJob({ jobId, resourcePool: target });
    if (value !== (byWeight ? job.weight : job.priority))
      await controlJob({ jobId, ...(byWeight ? { weight: value } : { priority: value }) });
    toast.done(`${job.name} is changed`);
  };
  return (
    <FormDialog
      title={job.name ?? "Job"}
      action="Save"
      refusal={wrong ? refusal : undefined}
      keys={[keys.pools()]}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField
        label={byWeight ? "Weight" : "Priority"}
        hint={byWeight ? "The share of the pool grows with the weight." : "1 is the most urgent, 99 the least."}
        inputMode="decimal"
        value={rank}
        onChange={(event) => setRank(event.target.value)}
      />
      {job.type === "TYPE_EXPERIMENT" && (
        <Select
          label="Resource pool"
          value={target}
          onValue={setTarget}
          options={pools.map((each) => each.name ?? "")}
        />
      )}
    </FormDialog>
  );
}
