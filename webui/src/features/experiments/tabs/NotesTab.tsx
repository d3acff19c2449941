import { useQueryClient } from "@tanstack/react-query";

import { answer, api } from "@/api/client";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { NotesCard } from "@/features/models/NotesCard";
import { toast } from "@/ui/feedback/toast";

import { useExperimentContext } from "../context";

/** The notes of an experiment, in Markdown. */
export default function NotesTab() {
  const { experiment } = useExperimentContext();
  const cache = useQueryClient();
  const { may } = useRights();
  const id = experiment.id ?? 0;
  const save = async (notes: string): Promise<boolean> => {
    try {
      await answer(
        api.PATCH("/api/v1/experiments/{experiment.id}", {
          params: { path: { "experiment.id": id } },
          body: { id, notes },
        }),
      );
      await cache.invalidateQueries({ queryKey: keys.experiment(id) });
      return true;
    } catch (error) {
      toast.failed("The notes are not saved", error);
      return false;
    }
  };
  const readNow = async () => {
    const path = { experiment_id: id };
    return (await answer(api.GET("/api/v1/experiments/{experiment_id}", { params: { path } }))).experiment?.notes;
  };
  const mayEdit = may("PERMISSION_TYPE_UPDATE_EXPERIMENT_METADATA", experiment.workspaceId);
  return <NotesCard notes={experiment.notes ?? ""} readNow={readNow} onSave={mayEdit ? save : undefined} />;
}
