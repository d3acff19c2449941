/** Opens a launch dialog over the page that one is on: `?launch=notebook`. */
import { useCallback } from "react";
import { useSearchParams } from "react-router";

import type { LaunchKind } from "@/data/launches";
import { useRights } from "@/data/permissions/permissions";
import type { IconName } from "@/ui/icons/Icon";
import type { MenuEntry } from "@/ui/overlay/Menu";

export type LaunchName = LaunchKind | "tensorboard";

export const LAUNCHES: readonly { name: LaunchName; label: string; icon: IconName }[] = [
  { name: "notebook", label: "JupyterLab", icon: "book" },
  { name: "shell", label: "Shell", icon: "terminal" },
  { name: "command", label: "Command", icon: "code" },
  { name: "tensorboard", label: "TensorBoard", icon: "chart" },
];

export function useLaunch(): (name: LaunchName) => void {
  const [, setParams] = useSearchParams();
  return useCallback(
    (name) =>
      setParams((old) => {
        const next = new URLSearchParams(old);
        next.set("launch", name);
        return next;
      }),
    [setParams],
  );
}

/** True where the user may start tasks in at least one workspace. */
export function useMayLaunch(): boolean {
  return useRights().mayAnywhere("PERMISSION_TYPE_CREATE_NSC");
}

export function useLaunchMenu(): MenuEntry[] {
  const launch = useLaunch();
  return LAUNCHES.map(({ name, label, icon }) => ({ label: `${label} …`, icon, onSelect: () => launch(name) }));
}
