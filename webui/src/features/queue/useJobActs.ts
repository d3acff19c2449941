import { useQueryClient } from "@tanstack/react-query";

import { request } from "@/api/client";
import { controlJob } from "@/data/cluster/acts";
import { jobPlace, type Job } from "@/data/cluster/queries";
import { keys } from "@/data/keys";
import { toast } from "@/ui/feedback/toast";
import { confirm } from "@/ui/overlay/confirm";

/** Where the kill of each kind of job lies below `/api/v1`. */
const COLLECTIONS: Record<string, string> = {
  experiment: "experiments",
  notebook: "notebooks",
  shell: "shells",
  command: "commands",
  tensorboard: "tensorboards",
  generic: "tasks",
};

export function useJobActs(pool: string) {
  const cache = useQueryClient();
  const run = async (act: () => Promise<unknown>, done: string) => {
    try {
      await act();
      toast.done(done);
    } catch (error) {
      toast.failed("The queue stays as it is", error);
    }
    await Promise.all([keys.queue(pool), keys.jobs()].map((queryKey) => cache.invalidateQueries({ queryKey })));
  };
  return {
    moveAhead: (jobId: string, target: Job | undefined) =>
      target && run(() => controlJob({ jobId, aheadOf: target.jobId ?? "" }), `Moved ahead of ${target.name}`),
    moveBehind: (jobId: string, target: Job | undefined) =>
      target && run(() => controlJob({ jobId, behindOf: target.jobId ?? "" }), `Moved behind ${target.name}`),
    kill: async (job: Job) => {
      const { kind } = jobPlace(job);
      const collection = COLLECTIONS[kind.split(" ")[0] ?? ""];
      if (!collection) return;
      const yes = await confirm({
        title: `Kill ${kind} ${job.name}?`,
        body: "It ends at once; work after the last checkpoint is lost.",
        action: "Kill",
        danger: true,
      });
      if (yes)
        await run(
          () =>
            request("POST", `/api/v1/${collection}/${job.entityId}/kill`, collection === "tasks" ? { body: {} } : {}),
          `Killed ${job.name}`,
        );
    },
  };
}
