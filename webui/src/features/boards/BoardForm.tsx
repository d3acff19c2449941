import { useEffect, useState } from "react";
import { useNavigate } from "react-router";

import { boardsKey, changeBoard, createBoard, type Board, type BoardScope } from "@/data/boards/queries";
import { useRights } from "@/data/permissions/permissions";
import { useProjects } from "@/data/workspace/queries";
import { useWorkspaces } from "@/data/workspaces";
import { Select, TextField } from "@/ui/field/Field";
import { FormDialog } from "@/ui/overlay/FormDialog";

import { panelsOf, splitBoard } from "./panels/split";
import { firstText } from "./panels/templates";

interface Place {
  projectId: number;
  workspaceId: number | undefined;
}

/** Creates a board, in `place` or in a project of one's choice, or edits name and sharing of one. */
export function BoardForm({ board, place, onClose }: { board?: Board; place?: Place; onClose(): void }) {
  const navigate = useNavigate();
  const { may } = useRights();
  const [name, setName] = useState(board?.name ?? "");
  const [scope, setScope] = useState<BoardScope>(board?.scope ?? "private");
  const [chosen, setChosen] = useState<Place>(place ?? { projectId: 1, workspaceId: 1 });
  const mayShare = board?.scope === "project" || may("PERMISSION_TYPE_UPDATE_PROJECT", board?.workspaceId ?? chosen.workspaceId);
  const refusal = !name.trim()
    ? "A board needs a name."
    : !board && chosen.projectId === 0
      ? "The workspace has no project: choose another one."
      : undefined;
  const submit = async () => {
    if (board) {
      const changes = { ...(name.trim() === board.name ? {} : { name: name.trim() }), ...(scope === board.scope ? {} : { scope }) };
      await changeBoard(board.id, board.version, changes);
      return;
    }
    const text = firstText();
    const panels = panelsOf(splitBoard(text));
    const made = await createBoard(chosen.projectId, { name: name.trim(), scope: mayShare ? scope : "private", text, panels });
    void navigate(`/boards/${made.id}`, { state: { edits: true } });
  };
  return (
    <FormDialog
      title={board ? `Edit board ${board.name}` : "New board"}
      action={board ? "Save" : "Create"}
      refusal={refusal}
      keys={[boardsKey]}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="Name" autoFocus maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      {!board && !place && <PlaceFields place={chosen} onPlace={setChosen} />}
      <Select
        label="Sharing"
        value={mayShare ? scope : "private"}
        onValue={(value) => setScope(value as BoardScope)}
        options={[
          { value: "private", label: "Private: only its owner opens it" },
          { value: "project", label: "Shared: all who see the project open it by its link", disabled: !mayShare },
        ]}
        hint={mayShare ? "Who may edit the project may edit a shared board." : "Sharing needs the right to edit the project."}
      />
    </FormDialog>
  );
}

function PlaceFields({ place, onPlace }: { place: Place; onPlace(place: Place): void }) {
  const workspaces = (useWorkspaces().data ?? []).filter((each) => !each.archived);
  const projects = useProjects(place.workspaceId ?? 1).data?.filter((each) => !each.archived);
  const first = projects?.[0]?.id ?? 0;
  const isForeign = projects !== undefined && place.projectId !== first && !projects.some((each) => each.id === place.projectId);
  useEffect(() => {
    // Another workspace has other projects: the first of them is chosen.
    if (isForeign) onPlace({ ...place, projectId: first });
  }, [first, isForeign, onPlace, place]);
  return (
    <>
      <Select
        label="Workspace"
        value={String(place.workspaceId ?? "")}
        onValue={(value) => onPlace({ projectId: -1, workspaceId: Number(value) })}
        options={workspaces.map((each) => ({ value: String(each.id), label: each.name ?? "" }))}
      />
      <Select
        label="Project"
        value={String(place.projectId)}
        onValue={(value) => onPlace({ ...place, projectId: Number(value) })}
        options={(projects ?? []).map((each) => ({ value: String(each.id), label: each.name ?? "" }))}
      />
    </>
  );
}
