import { useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";

import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { keys } from "@/data/keys";
import { useRights } from "@/data/permissions/permissions";
import { modelPath, patchModel, useModels, type Model } from "@/data/registry/models";
import { useUserName, useWorkspaces } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Checkbox, Select } from "@/ui/field/Field";
import { InlineText } from "@/ui/field/InlineText";
import { SearchField } from "@/ui/field/SearchField";
import { Toolbar } from "@/ui/layout/Toolbar";
import { isEmptyMenu } from "@/ui/overlay/Menu";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";
import { Time } from "@/ui/text/Time";

import { filterModels, ownersOf, tagsOf } from "./filter";
import { ModelForm } from "./ModelForm";
import { Tags } from "./Tags";
import { useModelMenu } from "./useModelMenu";

/** The models of the cluster, or of one workspace. */
export function ModelsView({ workspaceId }: { workspaceId?: number }) {
  const query = useModels(workspaceId);
  return (
    <QueryView query={query} what="the models">
      {(models) => <Listed models={models} workspaceId={workspaceId} />}
    </QueryView>
  );
}

function Listed({ models, workspaceId }: { models: Model[]; workspaceId: number | undefined }) {
  const navigate = useNavigate();
  const nameOf = useUserName();
  const { mayAnywhere, may } = useRights();
  const [text, setText] = useParam("q", "");
  const [tag, setTag] = useParam("tag", "");
  const [owner, setOwner] = useParam("owner", "");
  const [archived, setArchived] = useParam("archived", "");
  const [creates, setCreates] = useState(false);
  const { menuOf, element } = useModelMenu();
  const columns = useColumns(workspaceId !== undefined);
  const shown = filterModels(models, { text, tag, owner: Number(owner), archived: archived === "1" });
  const mayCreate =
    workspaceId === undefined
      ? mayAnywhere("PERMISSION_TYPE_CREATE_MODEL_REGISTRY")
      : may("PERMISSION_TYPE_CREATE_MODEL_REGISTRY", workspaceId);
  return (
    <div className="stack">
      <Toolbar
        end={
          <>
            {plural(shown.length, "model")}
            {mayCreate && (
              <Button look="primary" icon="plus" onClick={() => setCreates(true)}>
                New model
              </Button>
            )}
          </>
        }
      >
        <SearchField label="Filter by name or description" value={text} onValue={setText} />
        <Select
          label="Tag"
          hideLabel
          value={tag}
          onValue={setTag}
          options={[{ value: "", label: "All tags" }, ...tagsOf(models)]}
        />
        <Select
          label="Owner"
          hideLabel
          value={owner}
          onValue={setOwner}
          options={[
            { value: "", label: "All owners" },
            ...ownersOf(models).map((id) => ({ value: String(id), label: nameOf(id) })),
          ]}
        />
        <Checkbox label="Archived" checked={archived === "1"} onValue={(on) => setArchived(on ? "1" : "")} />
      </Toolbar>
      <DataTable
        label="Models"
        rows={shown}
        rowKey={(each) => each.id ?? 0}
        rowName={(each) => each.name ?? ""}
        columns={columns}
        {...(shown.every((each) => isEmptyMenu(menuOf(each))) ? {} : { rowMenu: menuOf })}
        onOpen={(each) => void navigate(modelPath(each.name))}
        empty={
          models.length === 0 ? (
            <Empty title="No models yet" command="det model create NAME">
              A model collects versions: checkpoints worth keeping, with notes and metadata. The
              checkpoints of a trial can be registered from its page.
            </Empty>
          ) : (
            <Empty title="No model matches">Change the text or the filters, or show archived models too.</Empty>
          )
        }
      />
      {creates && <ModelForm workspaceId={workspaceId} onClose={() => setCreates(false)} />}
      {element}
    </div>
  );
}

function useColumns(inWorkspace: boolean): Column<Model>[] {
  const nameOf = useUserName();
  const act = useAct();
  const { may } = useRights();
  const workspaces = useWorkspaces().data;
  return useMemo<Column<Model>[]>(() => {
    const workspaceOf = (each: Model) => workspaces?.find(({ id }) => id === each.workspaceId)?.name ?? "";
    const describe = (each: Model, description: string) =>
      act(() => patchModel(each.name ?? "", { description }), {
        done: "Saved",
        failed: `Model ${each.name}`,
        undo: () => patchModel(each.name ?? "", { description: each.description ?? "" }),
        keys: [keys.models()],
      });
    return [
      {
        id: "name",
        header: "Name",
        width: 200,
        pin: true,
        sortable: true,
        value: (each) => each.name,
        render: (each) => <Link to={modelPath(each.name)}>{each.name}</Link>,
      },
      {
        id: "description",
        header: "Description",
        width: 260,
        grow: true,
        value: (each) => each.description,
        render: (each) => (
          <InlineText
            label={`description of ${each.name}`}
            value={each.description ?? ""}
            onSave={
              may("PERMISSION_TYPE_EDIT_MODEL_REGISTRY", each.workspaceId) && !each.archived
                ? (text) => describe(each, text)
                : undefined
            }
          />
        ),
      },
      { id: "versions", header: "Versions", type: "number", align: "end", width: 90, sortable: true, value: (each) => each.numVersions, render: (each) => each.numVersions },
      { id: "tags", header: "Tags", type: "list", width: 180, sortable: true, value: (each) => (each.labels ?? []).join(" "), render: (each) => <Tags tags={each.labels} /> },
      ...(inWorkspace
        ? []
        : [
            {
              id: "workspace",
              header: "Workspace",
              width: 140,
              sortable: true,
              value: workspaceOf,
              render: (each: Model) => <Link to={`/workspaces/${each.workspaceId}/models`}>{workspaceOf(each)}</Link>,
            },
          ]),
      { id: "updated", header: "Updated", type: "date", width: 120, sortable: true, value: (each) => each.lastUpdatedTime, render: (each) => <Time at={each.lastUpdatedTime} /> },
      { id: "owner", header: "Owner", width: 120, sortable: true, value: (each) => nameOf(each.userId), render: (each) => nameOf(each.userId) },
      { id: "archived", header: "Archived", width: 100, sortable: true, value: (each) => each.archived, render: (each) => (each.archived ? "Archived" : "") },
    ];
  }, [act, inWorkspace, may, nameOf, workspaces]);
}
