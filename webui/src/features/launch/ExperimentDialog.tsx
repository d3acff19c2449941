import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "react-router";

import { useTemplates } from "@/data/configs/templates";
import { merged, uploadProblems, withoutIgnored, type Folder, type Upload } from "@/data/experiments/uploads";
import { projectQuery } from "@/data/projects";
import type { Editing } from "@/features/submit/editing";
import { ExperimentFields } from "@/features/submit/ExperimentFields";
import { NewExperiment } from "@/features/submit/NewExperiment";
import { Problems } from "@/features/submit/Problems";
import styles from "@/features/submit/Submit.module.css";
import { Select } from "@/ui/field/Field";
import { Notice } from "@/ui/layout/Notice";

import { ExperimentNeeds } from "./ExperimentNeeds";
import { FilesField } from "./FilesField";
import { blankStart, configsIn, missingProgram, placed, type FoundConfig, type ProjectPlace } from "./newExperiment";
import { launchWord } from "./useLaunch";

const NO_FILES: Folder = { files: [], ignored: 0 };

/** `?launch=experiment`, with `launch.project` and `launch.template`: a new experiment from nothing. */
export default function ExperimentDialog({ onClose }: { onClose(): void }) {
  const [params] = useSearchParams();
  const projectId = Number(params.get(launchWord("project")));
  const project = useQuery({ ...projectQuery(projectId), enabled: projectId > 0 });
  const { name = "", workspaceName = "" } = project.data ?? {};
  // The form starts from the names of the project.
  if (projectId > 0 && project.isPending) return null;
  const place = project.data ? { workspace: workspaceName, project: name } : undefined;
  return <ExperimentForm place={place} firstTemplate={params.get(launchWord("template")) ?? ""} onClose={onClose} />;
}

function ExperimentForm({
  place,
  firstTemplate,
  onClose,
}: {
  place: ProjectPlace | undefined;
  firstTemplate: string;
  onClose(): void;
}) {
  const templates = useTemplates().data ?? [];
  const [template, setTemplate] = useState(firstTemplate);
  const [start] = useState(() => ({ text: blankStart(place, firstTemplate) }));
  const [chosen, setChosen] = useState<readonly Upload[]>([]);
  const [folder, setFolder] = useState(NO_FILES);
  const [configs, setConfigs] = useState<FoundConfig[]>([]);
  // A text that nobody has typed in is replaced.
  const [offered, setOffered] = useState<readonly string[]>([start.text]);
  const offer = (text: string, editing: Editing) => {
    if (offered.includes(editing.draft.text)) editing.replace(text);
    setOffered((old) => [...old, text]);
  };
  const choose = async (files: readonly Upload[], editing: Editing) => {
    setChosen(files);
    const next = await withoutIgnored(files);
    setFolder(next);
    const found = (await configsIn(next.files)).map(({ path, text }) => ({ path, text: placed(text, place) }));
    setConfigs(found);
    const first = found[0];
    if (first && first.text !== configs[0]?.text) offer(first.text, editing);
  };
  const chooseTemplate = (name: string, editing: Editing) => {
    setTemplate(name);
    if (configs.length === 0) offer(blankStart(place, name), editing);
  };
  const problems = uploadProblems(folder.files);
  const others = [{ label: "a single trial", text: blankStart(place, "") }, ...configs.map(({ path, text }) => ({ label: path, text }))];
  return (
    <NewExperiment
      title="New experiment"
      description="Choose the files and say what runs. The form and the YAML show the same text."
      action="Create"
      start={start}
      files={folder.files}
      template={template}
      others={others}
      refusal={problems.length > 0 ? "The files cannot be sent: see the problems below them." : undefined}
      onClose={onClose}
      form={(editing) => (
        <>
          <fieldset className={styles.group}>
            <legend>Files</legend>
            <FilesField
              folder={folder}
              onAdd={(files) => void choose(merged(chosen, files), editing)}
              onRemove={(path) => void choose(path === undefined ? [] : chosen.filter((each) => each.path !== path), editing)}
            />
            <Problems problems={problems.map((message) => ({ message, path: undefined, line: undefined }))} />
            <Program editing={editing} files={folder.files} />
            <Select
              label="Template"
              hint="Values of the form and the YAML win over it"
              value={template}
              onValue={(name) => chooseTemplate(name, editing)}
              options={[{ value: "", label: "None" }, ...templates.map((each) => ({ value: each.name ?? "", label: each.name ?? "" }))]}
            />
          </fieldset>
          <ExperimentFields editing={editing} />
          <ExperimentNeeds editing={editing} />
        </>
      )}
    />
  );
}

function Program({ editing, files }: { editing: Editing; files: readonly Upload[] }) {
  const program = files.length > 0 && missingProgram(editing.draft, files);
  if (!program) return null;
  return <Notice>The entrypoint names {program}, which is not among the files: add it, or change the entrypoint.</Notice>;
}
