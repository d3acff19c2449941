import { useQueryClient } from "@tanstack/react-query";

import { deleteCheckpoints, sizeOf, type Checkpoint } from "@/data/checkpoints";
import type { Experiment } from "@/data/experiments/queries";
import { formatBytes, plural } from "@/data/format/numbers";
import { toast } from "@/ui/feedback/toast";
import { confirm } from "@/ui/overlay/confirm";

/** Deletes checkpoints after a question; a registered one is refused by the master. */
export function useDeletion() {
  const cache = useQueryClient();
  return async (experiment: Experiment, checkpoints: Checkpoint[]): Promise<void> => {
    const size = checkpoints.reduce((sum, each) => sum + sizeOf(each), 0);
    const yes = await confirm({
      title: `Delete ${plural(checkpoints.length, "checkpoint")}?`,
      body: `The files (${formatBytes(size)}) are deleted for good. Experiment ${experiment.id} keeps its metrics.`,
      action: "Delete",
      danger: true,
    });
    if (!yes) return;
    try {
      await deleteCheckpoints(checkpoints.map((each) => each.uuid ?? ""));
      toast.done("The files are being deleted");
    } catch (error) {
      toast.failed("The checkpoints stay", error);
    }
    await cache.invalidateQueries({ queryKey: ["checkpoints"] });
  };
}
