import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "@/api/client";
import { messageOf } from "@/api/errors";
import { keys } from "@/data/keys";
import { useWorkspaces } from "@/data/workspaces";
import { useRights } from "@/data/permissions/permissions";
import { Button } from "@/ui/button/Button";
import { Select } from "@/ui/field/Field";
import { toast } from "@/ui/feedback/toast";
import { Dialog } from "@/ui/overlay/Dialog";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

/** Workspaces where the user may create experiments, then their projects. */
export default function MoveDialog({ experiment, onClose }: ExperimentDialogProps) {
  const cache = useQueryClient();
  const { may } = useRights();
  const id = experiment.id ?? 0;
  const [workspace, setWorkspace] = useState(experiment.workspaceId ?? 1);
  const [project, setProject] = useState(0);
  const [error, setError] = useState("");
  const workspaces = (useWorkspaces().data ?? []).filter(
    (each) => !each.archived && may("PERMISSION_TYPE_CREATE_EXPERIMENT", each.id),
  );
  const projects = useQuery({
    queryKey: keys.projects(workspace),
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/workspaces/{id}/projects", {
            params: { path: { id: workspace }, query: { limit: -1, archived: false } },
          }),
        )
      ).projects ?? [],
  }).data;
  const move = async () => {
    try {
      await answer(
        api.POST("/api/v1/experiments/{experiment_id}/move", {
          params: { path: { experiment_id: id } },
          body: { experimentId: id, destinationProjectId: project },
        }),
      );
      toast.done(`Experiment ${id} is moved`);
      await cache.invalidateQueries();
      onClose();
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Move experiment ${id}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            disabledReason={project ? undefined : "Choose a project."}
            onClick={() => void move()}
          >
            Move
          </Button>
        </>
      }
    >
      <div className="stack">
        <Select
          label="Workspace"
          value={String(workspace)}
          onValue={(value) => {
            setWorkspace(Number(value));
            setProject(0);
          }}
          options={workspaces.map((each) => ({ value: String(each.id), label: each.name ?? "" }))}
        />
        <Select
          label="Project"
          value={String(project)}
          error={error || undefined}
          onValue={(value) => setProject(Number(value))}
          options={[
            { value: "0", label: "Choose a project …" },
            ...(projects ?? [])
              .filter((each) => each.id !== experiment.projectId)
              .map((each) => ({ value: String(each.id), label: each.name ?? "" })),
          ]}
        />
      </div>
    </Dialog>
  );
}
