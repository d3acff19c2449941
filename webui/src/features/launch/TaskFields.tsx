import { valueAt } from "@/data/configs/draft";
import { elsewhere, problemAt } from "@/data/configs/problems";
import type { Template } from "@/data/configs/templates";
import { commandLine, entrypointOf, type LaunchKind } from "@/data/launches";
import type { Workspace } from "@/data/workspaces";
import type { Editing } from "@/features/submit/editing";
import { useTyping, WordField } from "@/features/submit/fields";
import { Problems } from "@/features/submit/Problems";
import { ResourceFields } from "@/features/submit/ResourceFields";
import styles from "@/features/submit/Submit.module.css";
import { Select, TextField } from "@/ui/field/Field";

const SHOWN = [["description"], ["entrypoint"], ["idle_timeout"], ["resources", "resource_pool"], ["resources", "slots"]];

/** The common part of a task's configuration, and what goes with it. */
export function TaskFields({
  kind,
  editing,
  workspaces,
  workspaceId,
  onWorkspace,
  templates,
  template,
  onTemplate,
}: {
  kind: LaunchKind;
  editing: Editing;
  workspaces: readonly Workspace[];
  workspaceId: number;
  onWorkspace(id: number): void;
  templates: readonly Template[];
  template: string;
  onTemplate(name: string): void;
}) {
  return (
    <>
      <Problems problems={elsewhere(editing.problems, SHOWN)} />
      <div className={styles.grid}>
        {kind === "command" && (
          <div className={styles.wide}>
            <CommandField editing={editing} isOptional={template !== ""} />
          </div>
        )}
        <div className={styles.wide}>
          <WordField editing={editing} path={["description"]} label="Name" placeholder="A random name" />
        </div>
        <Select
          label="Workspace"
          value={String(workspaceId)}
          onValue={(id) => onWorkspace(Number(id))}
          options={workspaces.map((each) => ({ value: String(each.id), label: each.name ?? "" }))}
        />
        <Select
          label="Template"
          hint="Values of the form and the YAML win over it"
          value={template}
          onValue={onTemplate}
          options={[{ value: "", label: "None" }, ...templates.map((each) => ({ value: each.name ?? "", label: each.name ?? "" }))]}
        />
        <ResourceFields editing={editing} workspaceId={workspaceId} slots="slots" label="Slots" onOneAgent />
        {kind === "notebook" && (
          <WordField
            editing={editing}
            path={["idle_timeout"]}
            label="End when idle for"
            placeholder="The cluster's default"
            hint="For example 30m or 2h"
          />
        )}
      </div>
    </>
  );
}

function CommandField({ editing, isOptional }: { editing: Editing; isOptional: boolean }) {
  const path = ["entrypoint"];
  const typing = useTyping(commandLine(valueAt(editing.draft, path)), (line) => editing.set(path, entrypointOf(line)));
  return (
    <TextField
      label="Command"
      placeholder={isOptional ? "That of the template" : "nvidia-smi"}
      hint="A shell of the container reads this line"
      error={problemAt(editing.problems, path)}
      autoComplete="off"
      spellCheck={false}
      {...typing}
    />
  );
}
