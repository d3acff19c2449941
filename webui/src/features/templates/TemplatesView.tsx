import { useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";

import { deleteTemplate, templatesKey, useTemplates, type Template } from "@/data/configs/templates";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { useRights } from "@/data/permissions/permissions";
import { useWorkspaces } from "@/data/workspaces";
import { useLaunch } from "@/features/launch/useLaunch";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { SearchField } from "@/ui/field/SearchField";
import { Toolbar } from "@/ui/layout/Toolbar";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { confirm } from "@/ui/overlay/confirm";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";

import { RenameForm } from "./RenameForm";
import { TemplateDialog } from "./TemplateDialog";

/** The templates of the cluster, or of one workspace; `?template=` opens one. */
export function TemplatesView({ workspaceId }: { workspaceId?: number }) {
  const query = useTemplates(workspaceId);
  return (
    <QueryView query={query} what="the templates">
      {(templates) => <Listed templates={templates} workspaceId={workspaceId} />}
    </QueryView>
  );
}

function Listed({ templates, workspaceId }: { templates: Template[]; workspaceId: number | undefined }) {
  const act = useAct();
  const launch = useLaunch();
  const { may, mayAnywhere } = useRights();
  const [text, setText] = useParam("q", "");
  const [opened, setOpened] = useParam("template", "");
  const [creates, setCreates] = useState(false);
  const [renamed, setRenamed] = useState<Template>();
  const columns = useColumns(workspaceId !== undefined);
  const shown = templates.filter((each) => (each.name ?? "").toLowerCase().includes(text.trim().toLowerCase()));
  const current = templates.find((each) => each.name === opened);
  const mayCreate =
    workspaceId === undefined ? mayAnywhere("PERMISSION_TYPE_CREATE_TEMPLATES") : may("PERMISSION_TYPE_CREATE_TEMPLATES", workspaceId);
  const remove = async ({ name = "" }: Template) => {
    const yes = await confirm({
      title: `Delete template ${name}?`,
      body: "Submissions that name it are refused from now on. Those that used it keep their configuration.",
      action: "Delete",
      danger: true,
    });
    if (yes)
      await act(() => deleteTemplate(name), {
        done: `Deleted template ${name}`,
        failed: `Template ${name}`,
        keys: [templatesKey],
      });
  };
  const menuOf = (each: Template): MenuEntry[] => {
    const edits = may("PERMISSION_TYPE_UPDATE_TEMPLATES", each.workspaceId);
    const deletes = may("PERMISSION_TYPE_DELETE_TEMPLATES", each.workspaceId);
    return [
      { label: edits ? "View and edit" : "View", icon: "code", onSelect: () => setOpened(each.name ?? "") },
      mayAnywhere("PERMISSION_TYPE_CREATE_EXPERIMENT") && {
        label: "New experiment …",
        icon: "plus",
        onSelect: () => launch("experiment", { template: each.name ?? "" }),
      },
      edits && { label: "Rename …", icon: "edit", onSelect: () => setRenamed(each) },
      deletes && "separator",
      deletes && { label: "Delete …", icon: "trash", danger: true, onSelect: () => void remove(each) },
    ];
  };
  return (
    <div className="stack">
      <Toolbar
        end={
          <>
            {plural(shown.length, "template")}
            {mayCreate && (
              <Button look="primary" icon="plus" onClick={() => setCreates(true)}>
                New template
              </Button>
            )}
          </>
        }
      >
        <SearchField label="Filter by name" value={text} onValue={setText} />
      </Toolbar>
      <DataTable
        label="Templates"
        rows={shown}
        rowKey={(each) => each.name ?? ""}
        columns={columns}
        rowMenu={menuOf}
        onOpen={(each) => setOpened(each.name ?? "")}
        empty={
          templates.length === 0 ? (
            <Empty title="No templates yet" command="det template create NAME FILE">
              A template is a part of a configuration that submissions start from.
            </Empty>
          ) : (
            <Empty title="No template matches">Change the text.</Empty>
          )
        }
      />
      {creates && <TemplateDialog workspaceId={workspaceId} onClose={() => setCreates(false)} />}
      {current && <TemplateDialog key={current.name} template={current} workspaceId={current.workspaceId} onClose={() => setOpened("")} />}
      {renamed && <RenameForm template={renamed} onClose={() => setRenamed(undefined)} />}
    </div>
  );
}

function useColumns(inWorkspace: boolean): Column<Template>[] {
  const workspaces = useWorkspaces().data;
  return useMemo<Column<Template>[]>(() => {
    const placeOf = (each: Template) => workspaces?.find(({ id }) => id === each.workspaceId)?.name ?? "";
    const setsOf = (each: Template) => Object.keys(each.config ?? {}).join(", ");
    return [
      { id: "name", header: "Name", width: 220, grow: true, pin: true, sortable: true, value: (each) => each.name, render: (each) => <TemplateLink name={each.name ?? ""} /> },
      { id: "sets", header: "Sets", width: 300, grow: true, value: setsOf, render: (each) => <span className="mono">{setsOf(each)}</span> },
      ...(inWorkspace
        ? []
        : [
            {
              id: "workspace",
              header: "Workspace",
              width: 160,
              sortable: true,
              value: placeOf,
              render: (each: Template) => <Link to={`/workspaces/${each.workspaceId}/templates`}>{placeOf(each)}</Link>,
            },
          ]),
    ];
  }, [inWorkspace, workspaces]);
}

function TemplateLink({ name }: { name: string }) {
  const [params] = useSearchParams();
  const next = new URLSearchParams(params);
  next.set("template", name);
  return <Link to={`?${next.toString()}`}>{name}</Link>;
}
