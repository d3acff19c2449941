/** The acts of an experiment with their questions, results and undos. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";

import { answer, api } from "@/api/client";
import { act, type Act } from "@/data/experiments/acts";
import type { Experiment } from "@/data/experiments/queries";
import { keys } from "@/data/keys";
import { confirm } from "@/ui/overlay/confirm";
import { toast } from "@/ui/feedback/toast";

const DONE: Record<Act, string> = {
  activate: "Resumed",
  pause: "Pausing: the trials save their work and give back their slots",
  cancel: "Stopping: the trials save their work first",
  kill: "Killed",
  archive: "Archived",
  unarchive: "Unarchived",
};

const INVERSE: Partial<Record<Act, Act>> = {
  archive: "unarchive",
  unarchive: "archive",
  pause: "activate",
};

export function useActs(experiment: Experiment) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const id = experiment.id ?? 0;
  const run = async (name: Act): Promise<void> => {
    if (name === "kill" && !(await askKill(experiment))) return;
    try {
      await act(name, id);
      const inverse = INVERSE[name];
      toast.done(DONE[name], inverse && (() => void run(inverse)));
    } catch (error) {
      toast.failed(`Experiment ${id}`, error);
    }
    await cache.invalidateQueries({ queryKey: keys.experiment(id) });
  };
  const remove = async (): Promise<void> => {
    const yes = await confirm({
      title: `Delete experiment ${id}?`,
      body: "Its trials, metrics, logs and checkpoints are deleted for good. Registered models keep the experiment from being deleted.",
      action: "Delete",
      danger: true,
    });
    if (!yes) return;
    try {
      await answer(
        api.DELETE("/api/v1/experiments/{experiment_id}", {
          params: { path: { experiment_id: id } },
        }),
      );
      toast.done(`Experiment ${id} is being deleted`);
      await navigate(`/projects/${experiment.projectId ?? 1}/experiments`);
    } catch (error) {
      toast.failed(`Experiment ${id}`, error);
    }
  };
  return { run, remove };
}

function askKill(experiment: Experiment): Promise<boolean> {
  return confirm({
    title: `Kill experiment ${experiment.id}?`,
    body: "Its trials end at once. Work after the last checkpoint is lost. Stop lets them save it first.",
    action: "Kill",
    danger: true,
  });
}
