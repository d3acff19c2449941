import { useCallback, useState } from "react";

import { useRights } from "@/data/permissions/permissions";
import { rules } from "@/data/rules";
import { useUser } from "@/data/session";
import { isFinished } from "@/data/states";
import { connectCommand, hasPage, isShared, type InteractiveTask } from "@/data/tasks";
import { toast } from "@/ui/feedback/toast";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { copyText } from "@/ui/text/Copy";

import { ConnectDialog } from "./ConnectDialog";
import { refusalOf } from "./eligible";
import { ShareDialog } from "./ShareDialog";
import { useTaskActs } from "./useTaskActs";

/** The acts of a task, and the dialog that one of them opens. */
export function useTaskMenu() {
  const act = useTaskActs();
  const { mayAny } = useRights();
  const user = useUser();
  const [connected, setConnected] = useState<InteractiveTask>();
  const [shared, setShared] = useState<InteractiveTask>();
  const menuOf = useCallback(
    (task: InteractiveTask): MenuEntry[] => {
      const ended = isFinished(task.state);
      const isMine = mayAny(rules.tasks.needs, task.workspaceId);
      const copy = async (text: string) => {
        await copyText(text);
        toast.info(`Copied: ${text}`);
      };
      const isPaused = refusalOf("unpause", task) === undefined;
      return [
        hasPage(task.kind) && !ended && { label: "Open", icon: "external", to: `/wait/${task.kind}/${task.id}` },
        task.kind === "shell" && !ended && { label: "Terminal", icon: "terminal", to: `/shell/${task.id}/terminal` },
        { label: "Log", icon: "log", to: `/${task.kind}/${task.id}/logs` },
        { label: "Story", icon: "clock", to: `/${task.kind}/${task.id}/story` },
        { label: "Configuration", icon: "code", to: `/${task.kind}/${task.id}/config` },
        { label: "Copy the id", icon: "copy", onSelect: () => void copy(task.id) },
        { label: "Copy the det command", icon: "copy", onSelect: () => void copy(connectCommand(task)) },
        {
          label: "Connect from a terminal …",
          icon: "terminal",
          disabledReason: ended ? "The task has ended." : undefined,
          onSelect: () => setConnected(task),
        },
        isShared(task.kind) &&
          !ended &&
          (user.admin || task.userId === user.id) && { label: "Share …", icon: "users", onSelect: () => setShared(task) },
        isMine && "separator",
        isMine &&
          Boolean(task.generic) &&
          (isPaused
            ? { label: "Unpause", icon: "play", onSelect: () => void act("unpause", [task]) }
            : { label: "Pause", icon: "pause", disabledReason: refusalOf("pause", task), onSelect: () => void act("pause", [task]) }),
        isMine && {
          label: "Kill",
          icon: "close",
          danger: true,
          disabledReason: refusalOf("kill", task),
          onSelect: () => void act("kill", [task]),
        },
      ];
    },
    [act, mayAny, user],
  );
  const dialog = shared ? (
    <ShareDialog task={shared} onClose={() => setShared(undefined)} />
  ) : (
    connected && <ConnectDialog task={connected} onClose={() => setConnected(undefined)} />
  );
  return { menuOf, dialog };
}
