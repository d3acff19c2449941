import { useQueries } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { answer, api } from "@/api/client";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { useWorkspaces } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { TextField } from "@/ui/field/Field";
import { Dialog } from "@/ui/overlay/Dialog";

import styles from "./Runs.module.css";

/** Chooses one of the projects in which the person may create. */
export function MoveDialog({
  projectId,
  summary,
  disabledReason,
  onClose,
  onMove,
}: {
  projectId: number;
  summary: ReactNode;
  disabledReason: string | undefined;
  onClose(): void;
  onMove(destination: number): void;
}) {
  const { may } = useRights();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<number>();
  const workspaces = (useWorkspaces().data ?? []).filter(
    (each) => !each.archived && may("PERMISSION_TYPE_CREATE_EXPERIMENT", each.id),
  );
  const lists = useQueries({
    queries: workspaces.map((each) => ({
      queryKey: keys.projects(each.id ?? 0),
      queryFn: async () =>
        (
          await answer(
            api.GET("/api/v1/workspaces/{id}/projects", { params: { path: { id: each.id ?? 0 }, query: { limit: -1 } } }),
          )
        ).projects ?? [],
      staleTime: 15_000,
    })),
  });
  const projects = lists
    .flatMap((each) => each.data ?? [])
    .filter((each) => each.id !== projectId && !each.archived)
    .filter((each) => `${each.workspaceName}/${each.name}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <Dialog
      open
      onClose={onClose}
      title="Move to another project"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            disabledReason={disabledReason ?? (chosen === undefined ? "Choose a project." : undefined)}
            onClick={() => chosen !== undefined && onMove(chosen)}
          >
            Move
          </Button>
        </>
      }
    >
      <div className="stack">
        {summary}
        <TextField label="Find a project" value={text} onChange={(event) => setText(event.target.value)} />
        <div role="radiogroup" aria-label="Project" className={styles.results}>
          {projects.map((each) => (
            <label key={each.id} className="row" style={{ minHeight: 28 }}>
              <input type="radio" name="project" checked={chosen === each.id} onChange={() => setChosen(each.id)} />
              {each.workspaceName} / {each.name}
            </label>
          ))}
          {projects.length === 0 && <p className="hint">No project to move to.</p>}
        </div>
      </div>
    </Dialog>
  );
}
