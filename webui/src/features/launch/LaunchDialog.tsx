import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { useNavigate } from "react-router";

import type { Draft } from "@/data/configs/draft";
import { useTemplates } from "@/data/configs/templates";
import { toYaml } from "@/data/forms/yaml";
import { keys } from "@/data/keys";
import { launchTask, previewTask, type LaunchKind } from "@/data/launches";
import { useRights } from "@/data/permissions/permissions";
import { useSetting } from "@/data/settings";
import { connectCommand, hasPage } from "@/data/tasks";
import { useWorkspaces } from "@/data/workspaces";
import { ConfigDialog } from "@/features/submit/ConfigDialog";
import { toast } from "@/ui/feedback/toast";

import { firstWorkspace, FIRST_LAUNCH, lastOf, launchRefusal, launchStart, type LastLaunch } from "./launching";
import { TaskFields } from "./TaskFields";

const TITLES: Record<LaunchKind, string> = {
  notebook: "Launch JupyterLab",
  shell: "Launch a shell",
  command: "Run a command",
};

const ABOUT: Record<LaunchKind, string> = {
  notebook: "A notebook server on an agent. Its page opens when it is ready.",
  shell: "A container that you enter with det shell open.",
  command: "A command in a container, without an experiment. It ends with the command.",
};

export default function LaunchDialog({ kind, onClose }: { kind: LaunchKind; onClose(): void }) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const { may } = useRights();
  const [last, remember] = useSetting<LastLaunch>("webui/launch", kind, FIRST_LAUNCH);
  const [start] = useState(() => launchStart(last));
  const [chosen, setChosen] = useState(0);
  const [template, setTemplate] = useState(last.template);
  const [complete, setComplete] = useState("");
  const workspaces = (useWorkspaces().data ?? []).filter((each) => !each.archived && may("PERMISSION_TYPE_CREATE_NSC", each.id));
  const workspaceId = chosen || firstWorkspace(workspaces, last.workspaceId);
  const templates = useTemplates().data ?? [];
  // A template that is gone since the last launch is not sent.
  const used = templates.some((each) => each.name === template) ? template : "";
  const ask = useCallback(
    async ({ value }: Draft, signal: AbortSignal) => {
      const preview = await previewTask({ config: value, template: used, workspaceId }, signal);
      setComplete(toYaml(preview.config));
      return preview;
    },
    [used, workspaceId],
  );
  const submit = async (draft: Draft) => {
    const id = await launchTask(kind, { config: draft.value, template: used, workspaceId });
    return () => {
      void remember(lastOf(draft, workspaceId, used));
      void cache.invalidateQueries({ queryKey: keys.tasks() });
      const isPage = hasPage(kind);
      if (!isPage) toast.done(`Started. In a terminal: ${connectCommand({ kind, id })}`);
      void navigate(isPage ? `/wait/${kind}/${id}` : `/${kind}/${id}/${kind === "shell" ? "terminal" : "logs"}`, { replace: true });
    };
  };
  return (
    <ConfigDialog
      title={TITLES[kind]}
      description={ABOUT[kind]}
      start={start}
      {...(kind === "notebook" ? { complete } : {})}
      ask={ask}
      refusal={(draft) => launchRefusal(kind, draft, used, workspaceId)}
      isShort
      action={kind === "command" ? "Run" : "Launch"}
      form={(editing) => (
        <TaskFields
          kind={kind}
          editing={editing}
          workspaces={workspaces}
          workspaceId={workspaceId}
          onWorkspace={setChosen}
          templates={templates}
          template={used}
          onTemplate={setTemplate}
        />
      )}
      onSubmit={submit}
      onClose={onClose}
    />
  );
}
